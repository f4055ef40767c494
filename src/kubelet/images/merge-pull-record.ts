import { assertNever } from '../../base/assert-never.ts';
import { byCodePoint } from '../../base/code-point-order.ts';
import type {
  ImagePullCredentials,
  ImagePulledRecord,
  ImagePullSecret,
  ImagePullServiceAccount,
} from './pull-record.ts';
import type { ObjectCoordinates } from './registry-login.ts';

/** Who an image was pulled for: every pod of the node, or the pods with a Secret or a service account. */
export type PulledFor =
  | { readonly kind: 'everyPod' }
  | { readonly kind: 'secret'; readonly secret: ImagePullSecret }
  | { readonly kind: 'serviceAccount'; readonly account: ImagePullServiceAccount };

/**
 * Adds an entry to the record of an image; `undefined` if the record does not change. Access for every pod is never
 * narrowed.
 */
export function withPulledFor(
  record: ImagePulledRecord,
  name: string,
  pulledFor: PulledFor,
  now: string,
): ImagePulledRecord | undefined {
  const known = record.credentialMapping?.[name];
  const merged = known === undefined ? asCredentials(pulledFor) : mergedCredentials(known, pulledFor);
  if (!merged) return undefined;
  return { ...record, lastUpdatedTime: now, credentialMapping: { ...record.credentialMapping, [name]: merged } };
}

export function asCredentials(pulledFor: PulledFor): ImagePullCredentials {
  switch (pulledFor.kind) {
    case 'everyPod':
      return { nodePodsAccessible: true };
    case 'secret':
      return { kubernetesSecrets: [pulledFor.secret] };
    case 'serviceAccount':
      return { kubernetesServiceAccounts: [pulledFor.account] };
    default:
      return assertNever(pulledFor);
  }
}

function mergedCredentials(known: ImagePullCredentials, pulledFor: PulledFor): ImagePullCredentials | undefined {
  if (known.nodePodsAccessible) return undefined;
  switch (pulledFor.kind) {
    case 'everyPod':
      return asCredentials(pulledFor);
    case 'secret':
      return withSecret(known, pulledFor.secret);
    case 'serviceAccount':
      return withAccount(known, pulledFor.account);
    default:
      return assertNever(pulledFor);
  }
}

function withSecret(known: ImagePullCredentials, secret: ImagePullSecret): ImagePullCredentials | undefined {
  const { kubernetesSecrets: secrets = [] } = known;
  const before = secrets.find((each) => isSameObject(each, secret));
  if (before?.credentialHash === secret.credentialHash) return undefined;
  const others = secrets.filter((each) => each !== before);
  return { ...known, kubernetesSecrets: [...others, secret].sort(byName) };
}

function withAccount(known: ImagePullCredentials, account: ImagePullServiceAccount): ImagePullCredentials | undefined {
  const { kubernetesServiceAccounts: accounts = [] } = known;
  if (accounts.some((each) => isSameObject(each, account))) return undefined;
  return { ...known, kubernetesServiceAccounts: [...accounts, account].sort(byName) };
}

export function isSameObject(one: ObjectCoordinates, other: ObjectCoordinates): boolean {
  return one.uid === other.uid && one.namespace === other.namespace && one.name === other.name;
}

function byName(a: ObjectCoordinates, b: ObjectCoordinates): number {
  return byCodePoint(a.namespace, b.namespace) || byCodePoint(a.name, b.name) || byCodePoint(a.uid, b.uid);
}
