import type { MonitoredName } from './oci-runtime.ts';

/** What the monitor keeps beside config.json. */
export interface BundleFiles {
  readonly config: string;
  /** Number of the container's first process. */
  readonly pid: string;
  readonly monitorPid: string;
  /** FIFO that the monitor holds open for writing as long as it lives; nobody writes to it. */
  readonly alive: string;
  /** FIFO for orders to the monitor. */
  readonly orders: string;
  /** There when the kernel killed a process of it for want of memory. */
  readonly oom: string;
  /** The socket of those who attach. */
  readonly attach: string;
}

export function bundleFiles({ bundle }: Pick<MonitoredName, 'bundle'>): BundleFiles {
  return {
    config: `${bundle}/config.json`,
    pid: `${bundle}/pidfile`,
    monitorPid: `${bundle}/conmon.pid`,
    alive: `${bundle}/winsz`,
    orders: `${bundle}/ctl`,
    oom: `${bundle}/oom`,
    attach: `${bundle}/attach`,
  };
}
