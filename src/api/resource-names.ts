import { qualifiedNameErrors } from '../base/name-syntax.ts';

const NATIVE_PREFIX = 'kubernetes.io/';
const QUOTA_PREFIX = 'requests.';

/** Whether the name is one of a vendor, `example.com/gpu`, and not one of Kubernetes. */
export function isExtendedResource(name: string): boolean {
  if (!name.includes('/') || name.includes(NATIVE_PREFIX) || name.startsWith(QUOTA_PREFIX)) return false;
  return qualifiedNameErrors(`${QUOTA_PREFIX}${name}`).length === 0;
}

/** Whether the scheduler counts the resource besides CPU, memory and ephemeral storage. */
export function isScalarResource(name: string): boolean {
  const prefixes = ['hugepages-', 'attachable-volumes-'];
  return isExtendedResource(name) || name.includes(NATIVE_PREFIX) || prefixes.some((each) => name.startsWith(each));
}
