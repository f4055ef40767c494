import type { Log } from '../base/log.ts';
import { CriError } from '../cri/cri-error.ts';
import { CgroupDriver as CriCgroupDriver } from '../cri/generated/runtime-v1.ts';
import type { RuntimeService } from '../cri/services.ts';
import type { CgroupDriver, Cgroups } from '../host/cgroups.ts';
import type { Host } from '../host/host.ts';
import { createSystemdCgroups } from '../kubelet/resources/systemd-cgroups.ts';

/**
 * The cgroup driver of the runtime, so that both manage cgroups in the same way. A runtime that does not report one
 * (containerd 1.x) must be configured as kubelet is.
 */
export async function chooseCgroupDriver(
  configured: string,
  runtime: Pick<RuntimeService, 'runtimeConfig'>,
  log: Log,
  signal: AbortSignal,
): Promise<CgroupDriver> {
  const fallback = configuredCgroupDriver(configured);
  try {
    const { linux } = await runtime.runtimeConfig({}, signal);
    if (linux === undefined) return fallback;
    const driver = linux.cgroupDriver === CriCgroupDriver.SYSTEMD ? 'systemd' : 'cgroupfs';
    if (driver !== fallback) log.info('using the cgroup driver of the runtime', { driver, configured });
    return driver;
  } catch (error) {
    if (!(error instanceof CriError) || error.code !== 'Unimplemented') throw error;
    log.info('the runtime does not report its cgroup driver: using the configured one', { driver: fallback });
    return fallback;
  }
}

/** `notHonoured` rejects other values than these two. */
export function configuredCgroupDriver(cgroupDriver: string): CgroupDriver {
  return cgroupDriver === 'systemd' ? 'systemd' : 'cgroupfs';
}

/** The cgroups that the agent creates. */
export function cgroupsOfDriver(
  { cgroupDriver }: { readonly cgroupDriver?: CgroupDriver | undefined },
  { cgroups, systemd }: Pick<Host, 'cgroups' | 'systemd'>,
): Cgroups {
  return cgroupDriver === 'systemd' ? createSystemdCgroups({ cgroups, systemd }) : cgroups;
}
