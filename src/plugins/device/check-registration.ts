import { goQuote } from '../../base/go/go-quote.ts';
import { qualifiedNameErrors } from '../../base/name-syntax.ts';

/** The only version of the protocol that kubelet supports. */
const VERSION = 'v1beta1';

/** Throws kubelet's message for a request that a plugin sends to kubelet.sock. */
export function checkRequest({
  version,
  resourceName,
}: {
  readonly version: string;
  readonly resourceName: string;
}): void {
  if (version !== VERSION) {
    throw new Error(
      `requested API version ${goQuote(version)} is not supported by kubelet. Supported version is [${goQuote(VERSION)}]`,
    );
  }
  if (!isExtendedResourceName(resourceName)) throw new Error(invalidName(resourceName));
}

/** Throws kubelet's message for a plugin that was found by its socket in `plugins_registry`. */
export function checkFoundPlugin(name: string, versions: readonly string[]): void {
  if (!versions.includes(VERSION)) {
    throw new Error(`manager version, ${VERSION}, is not among plugin supported versions [${versions.join(' ')}]`);
  }
  if (!isExtendedResourceName(name)) throw new Error(`invalid name of device plugin socket: ${invalidName(name)}`);
}

/** A resource outside of Kubernetes' own domain, which a quota could limit. */
export function isExtendedResourceName(name: string): boolean {
  if (!name.includes('/') || name.includes('kubernetes.io/') || name.startsWith('requests.')) return false;
  return qualifiedNameErrors(`requests.${name}`).length === 0;
}

function invalidName(name: string): string {
  return `the ResourceName ${goQuote(name)} is invalid`;
}
