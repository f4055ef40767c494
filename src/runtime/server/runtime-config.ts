import { CgroupDriver, RuntimeConfigResponse } from '../../cri/generated/runtime-v1.ts';
import type { RuntimeService } from '../../cri/services.ts';

/** Cgroups are created directly in cgroupfs, never through systemd. */
export function runtimeConfig(): RuntimeService['runtimeConfig'] {
  const answer = RuntimeConfigResponse.fromPartial({ linux: { cgroupDriver: CgroupDriver.CGROUPFS } });
  return async () => answer;
}
