import type { VolumeMount } from '../../api/generated/core-v1.ts';
import type { VersionResponse } from '../../cri/generated/runtime-v1.ts';

/** The first versions of containerd that mount images, and directories of images. */
const IMAGES = [2, 1] as const;
const SUB_PATHS = [2, 2] as const;

/**
 * Returns why the runtime cannot mount an image volume. CRI has no feature flag for it: containerd before 2.1 fails with
 * `failed to mkdir ""`, and 2.1 mounts the whole image in place of a directory of it.
 */
export function unsupportedImageVolume(
  { runtimeName, runtimeVersion }: Pick<VersionResponse, 'runtimeName' | 'runtimeVersion'>,
  { subPath, subPathExpr }: Pick<VolumeMount, 'subPath' | 'subPathExpr'>,
): string | undefined {
  if (runtimeName !== 'containerd') return undefined;
  const [, major, minor] = /^v?(\d+)\.(\d+)/.exec(runtimeVersion) ?? [];
  if (major === undefined || minor === undefined) return undefined;
  const isOlderThan = ([first, second]: readonly [number, number]): boolean =>
    Number(major) < first || (Number(major) === first && Number(minor) < second);
  const runs = `the runtime is containerd ${runtimeVersion}`;
  if (isOlderThan(IMAGES)) return `image volumes need containerd ${IMAGES.join('.')} or newer, ${runs}`;
  if ((subPath || subPathExpr) && isOlderThan(SUB_PATHS)) {
    return `a subPath of an image volume needs containerd ${SUB_PATHS.join('.')} or newer, ${runs}`;
  }
  return undefined;
}
