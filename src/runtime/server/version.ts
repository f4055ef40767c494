import { VersionResponse } from '../../cri/generated/runtime-v1.ts';
import type { RuntimeService } from '../../cri/services.ts';

/** `runtimeVersion` is that of the whole program. */
export function version(runtimeVersion: string): RuntimeService['version'] {
  const answer = VersionResponse.fromPartial({
    version: '0.1.0', // of kubelet's interface before it had a name: every runtime says so, and clients check it
    runtimeName: 'nodelet',
    runtimeVersion,
    runtimeApiVersion: 'v1',
  });
  return async () => answer;
}
