import { createHash } from 'node:crypto';
import { CriError } from '../cri-error.ts';

/** Expands a short name like containerd: `busybox` becomes `docker.io/library/busybox:latest`. */
export function normalizeReference(reference: string): string {
  const [name, digest] = splitAt(reference, '@');
  if (name === '' || /[A-Z]/.test(name.split(':')[0] ?? '') || name.includes('//')) {
    throw new CriError(
      'Unknown',
      `failed to parse image reference ${JSON.stringify(reference)}: invalid reference format`,
    );
  }
  const first = name.split('/')[0] ?? '';
  const hasDomain = name.includes('/') && (/[.:]/.test(first) || first === 'localhost');
  const path = hasDomain ? name : `docker.io/${name.includes('/') ? '' : 'library/'}${name}`;
  if (digest !== undefined) return `${parseRepository(path)}@${digest}`;
  return hasTag(path) ? path : `${path}:latest`;
}

export function parseRepository(reference: string): string {
  const [name] = splitAt(reference, '@');
  return hasTag(name) ? name.slice(0, name.lastIndexOf(':')) : name;
}

/** The digest of the content. */
export function contentDigest(content: string): string {
  return `sha256:${createHash('sha256').update(content).digest('hex')}`;
}

function hasTag(name: string): boolean {
  return name.slice(name.lastIndexOf('/') + 1).includes(':');
}

function splitAt(text: string, separator: string): [string, string | undefined] {
  const index = text.indexOf(separator);
  return index === -1 ? [text, undefined] : [text.slice(0, index), text.slice(index + 1)];
}
