import type { ContainerRef } from './oci-runtime.ts';

/** The monitor's files beside config.json. */
export interface BundleFiles {
  readonly config: string;
  /** PID of the container's first process. */
  readonly pid: string;
  readonly monitorPid: string;
  /** FIFO that the monitor holds open for writing until it exits; it writes nothing to it. */
  readonly alive: string;
  /** FIFO for control commands to the monitor. */
  readonly control: string;
  /** Exists if a process of the container was OOM-killed. */
  readonly oom: string;
  /** The socket for attach. */
  readonly attach: string;
}

export function bundleFiles({ bundle }: Pick<ContainerRef, 'bundle'>): BundleFiles {
  return {
    config: `${bundle}/config.json`,
    pid: `${bundle}/pidfile`,
    monitorPid: `${bundle}/conmon.pid`,
    alive: `${bundle}/winsz`,
    control: `${bundle}/ctl`,
    oom: `${bundle}/oom`,
    attach: `${bundle}/attach`,
  };
}
