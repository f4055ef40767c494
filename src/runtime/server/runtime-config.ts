import { CgroupDriver, RuntimeConfigResponse } from '../../cri/generated/runtime-v1.ts';
import type { RuntimeService } from '../../cri/services.ts';
import type { RuntimeSettings } from '../settings/runtime-settings.ts';

const DRIVERS = { cgroupfs: CgroupDriver.CGROUPFS, systemd: CgroupDriver.SYSTEMD };

/** kubelet uses the cgroup driver of the runtime. */
export function runtimeConfig({
  cgroupDriver,
}: Pick<RuntimeSettings, 'cgroupDriver'>): RuntimeService['runtimeConfig'] {
  const answer = RuntimeConfigResponse.fromPartial({ linux: { cgroupDriver: DRIVERS[cgroupDriver] } });
  return async () => answer;
}
