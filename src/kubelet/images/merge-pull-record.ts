import { byCodePoint } from '../../base/code-point-order.ts';
import type { ImagePullCredentials, ImagePulledRecord, ImagePullSecret } from './pull-record.ts';

/** For whom an image was pulled: every pod of the node, or those that have a Secret. */
export type PulledFor = { readonly kind: 'everyPod' } | { readonly kind: 'secret'; readonly secret: ImagePullSecret };

/**
 * The record with one more that may use the image under this name; `undefined` when it says so already. What every pod
 * may use stays so.
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
  return pulledFor.kind === 'everyPod' ? { nodePodsAccessible: true } : { kubernetesSecrets: [pulledFor.secret] };
}

function mergedCredentials(known: ImagePullCredentials, pulledFor: PulledFor): ImagePullCredentials | undefined {
  if (known.nodePodsAccessible) return undefined;
  if (pulledFor.kind === 'everyPod') return asCredentials(pulledFor);
  const { secret } = pulledFor;
  const { kubernetesSecrets: secrets = [] } = known;
  const before = secrets.find((each) => isSameSecret(each, secret));
  if (before?.credentialHash === secret.credentialHash) return undefined;
  const others = secrets.filter((each) => each !== before);
  return { ...known, kubernetesSecrets: [...others, secret].sort(bySecretName) };
}

export function isSameSecret(one: ImagePullSecret, other: ImagePullSecret): boolean {
  return one.uid === other.uid && one.namespace === other.namespace && one.name === other.name;
}

function bySecretName(a: ImagePullSecret, b: ImagePullSecret): number {
  return byCodePoint(a.namespace, b.namespace) || byCodePoint(a.name, b.name) || byCodePoint(a.uid, b.uid);
}
