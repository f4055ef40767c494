import type { VolumeMount } from '../../api/generated/core-v1.ts';
import type { VersionResponse } from '../../cri/generated/runtime-v1.ts';

/** The first versions of containerd that mount images, and directories of images. Older ones ignore the fields. */
const IMAGES = [2, 1] as const;
const SUB_PATHS = [2, 2] as const;

/**
 * Returns why the runtime cannot mount an image volume. CRI has no feature flag for it, and a runtime that does not know
 * the field would mount something else.
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
