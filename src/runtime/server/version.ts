import { VersionResponse } from '../../cri/generated/runtime-v1.ts';
import type { RuntimeService } from '../../cri/services.ts';

/** `runtimeVersion` is the version of the program. */
export function version(runtimeVersion: string): RuntimeService['version'] {
  const answer = VersionResponse.fromPartial({
    version: '0.1.0', // kubelet's runtime API version before CRI: every runtime returns it, and clients check it
    runtimeName: 'nodelet',
    runtimeVersion,
    runtimeApiVersion: 'v1',
  });
  return async () => answer;
}
