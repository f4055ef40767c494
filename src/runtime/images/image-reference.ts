import { ImageNameError, parseImageName } from '../../base/image-name.ts';

/**
 * The whole name of a short one: `busybox` is `docker.io/library/busybox:latest`. A name with a tag and a digest goes by its
 * digest, as in containerd. `undefined`: not a name of an image.
 */
export function normalizedReference(reference: string): string | undefined {
  try {
    const { domain, path, tag, digest } = parseImageName(reference);
    return `${domain}/${path}${digest === undefined ? `:${tag}` : `@${digest}`}`;
  } catch (error) {
    if (error instanceof ImageNameError) return undefined;
    throw error;
  }
}

export function isDigested(reference: string): boolean {
  return reference.includes('@');
}
