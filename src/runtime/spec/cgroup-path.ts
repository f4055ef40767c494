import { posix } from 'node:path';
import type { PodSandboxConfig } from '../../cri/generated/runtime-v1.ts';

/** Returns a path for the cgroupfs driver, whatever the parent is called. */
export function cgroupPath({ linux }: PodSandboxConfig, id: string): string {
  return posix.join('/', linux?.cgroupParent || 'nodelet', id);
}
