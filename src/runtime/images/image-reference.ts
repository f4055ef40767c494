import { ImageNameError, parseImageName } from '../../base/image-name.ts';

/**
 * Returns the full name of a short one: `busybox` is `docker.io/library/busybox:latest`. The digest of a name with both
 * a tag and a digest decides, as in containerd. Returns `undefined` for an invalid name.
 */
export function normalizeReference(reference: string): string | undefined {
  try {
    const { domain, path, tag, digest } = parseImageName(reference);
    return `${domain}/${path}${digest === undefined ? `:${tag}` : `@${digest}`}`;
  } catch (error) {
    if (error instanceof ImageNameError) return undefined;
    throw error;
  }
}

export function hasDigest(reference: string): boolean {
  return reference.includes('@');
}
