/** An image name with everything that may be left out filled in: `busybox` is `docker.io/library/busybox`. */
export interface ImageName {
  /** The registry: `docker.io`, `localhost:5000`. */
  readonly domain: string;
  /** The repository in it: `library/busybox`. */
  readonly path: string;
  /** `latest` when the name has neither a tag nor a digest. */
  readonly tag: string | undefined;
  readonly digest: string | undefined;
}

/** The text is not an image name; the message is the kubelet's. */
export class ImageNameError extends Error {
  override readonly name = 'ImageNameError';
}

const DOMAIN_PART = '(?:[a-zA-Z0-9]|[a-zA-Z0-9][a-zA-Z0-9-]*[a-zA-Z0-9])';
const DOMAIN = `(?:${DOMAIN_PART}(?:\\.${DOMAIN_PART})*|\\[[a-fA-F0-9:]+\\])(?::[0-9]+)?`;
const PATH_PART = '[a-z0-9]+(?:(?:\\.|_|__|-+)[a-z0-9]+)*';
const NAME = `(${DOMAIN})/(${PATH_PART}(?:/${PATH_PART})*)`;
const TAG = '\\w[\\w.-]{0,127}';
const DIGEST = '[A-Za-z][A-Za-z0-9]*(?:[-_+.][A-Za-z][A-Za-z0-9]*)*:[0-9a-fA-F]{32,}';
const AS_WRITTEN = new RegExp(`^(?:${DOMAIN}/)?${PATH_PART}(?:/${PATH_PART})*(?::${TAG})?(?:@${DIGEST})?$`);
const REFERENCE = new RegExp(`^${NAME}(?::(${TAG}))?(?:@(${DIGEST}))?$`);

const DIGEST_LENGTHS: ReadonlyMap<string, number> = new Map([
  ['sha256', 64],
  ['sha384', 96],
  ['sha512', 128],
]);
const MAX_NAME = 255;

/** Throws an `ImageNameError`. */
export function parseImageName(image: string): ImageName {
  const fail = (why: string): ImageNameError => new ImageNameError(`couldn't parse image name "${image}": ${why}`);
  if (/^[a-f0-9]{64}$/.test(image)) {
    throw fail(`invalid repository name (${image}), cannot specify 64-byte hexadecimal strings`);
  }
  const { domain, rest } = splitDomain(image);
  const repository = rest.split(':', 1)[0] ?? '';
  if (repository !== repository.toLowerCase()) {
    throw fail(`invalid reference format: repository name (${repository}) must be lowercase`);
  }
  const match = REFERENCE.exec(`${domain}/${rest}`);
  if (!match) throw fail('invalid reference format');
  const [, , path = '', tag, digest] = match;
  if (path.length > MAX_NAME) throw fail(`repository name must not be more than ${MAX_NAME} characters`);
  const message = digest === undefined ? undefined : digestError(digest);
  if (message) throw fail(message);
  return { domain, path, tag: tag ?? (digest === undefined ? 'latest' : undefined), digest };
}

function splitDomain(image: string): { domain: string; rest: string } {
  const slash = image.indexOf('/');
  const first = image.slice(0, Math.max(0, slash));
  const isDomain = slash >= 0 && (/[.:]/.test(first) || first === 'localhost' || first !== first.toLowerCase());
  const domain = !isDomain || first === 'index.docker.io' ? 'docker.io' : first;
  const rest = isDomain ? image.slice(slash + 1) : image;
  return { domain, rest: domain === 'docker.io' && !rest.includes('/') ? `library/${rest}` : rest };
}

function digestError(digest: string): string | undefined {
  const [algorithm = '', hex = ''] = digest.split(':');
  const length = DIGEST_LENGTHS.get(algorithm);
  if (length === undefined) return 'unsupported digest algorithm';
  if (hex.length !== length) return 'invalid checksum digest length';
  return /^[a-f0-9]+$/.test(hex) ? undefined : 'invalid checksum digest format';
}

/**
 * The image name for a CRI request: `:latest` is added to a name with neither tag nor digest. The rest stays as the user
 * wrote it, because runtimes resolve short names themselves. Throws an `ImageNameError`.
 */
export function withDefaultTag(image: string): string {
  const { tag, digest } = parseImageName(image);
  return digest !== undefined || image.endsWith(`:${tag}`) ? image : `${image}:${tag}`;
}

/** Why a text is not an image reference, without any defaulting; `undefined` for a valid one. */
export function referenceError(text: string): string | undefined {
  if (AS_WRITTEN.test(text)) {
    const isLong = withoutTagAndDigest(text).length > MAX_NAME;
    return isLong ? `repository name must not be more than ${MAX_NAME} characters` : undefined;
  }
  if (text === '') return 'repository name must have at least one component';
  const isLowerFine = AS_WRITTEN.test(text.toLowerCase());
  return isLowerFine ? 'repository name must be lowercase' : 'invalid reference format';
}

/** Registry and repository, with everything that was left out: `docker.io/library/busybox`. Throws an `ImageNameError`. */
export function repositoryOf(image: string): string {
  const { domain, path } = parseImageName(image);
  return `${domain}/${path}`;
}

/** The name as the user wrote it, without its tag and digest: `busybox`, `localhost:5000/app`. */
export function withoutTagAndDigest(image: string): string {
  const [name = ''] = image.split('@', 1);
  const colon = name.lastIndexOf(':');
  return colon > name.lastIndexOf('/') ? name.slice(0, colon) : name;
}
