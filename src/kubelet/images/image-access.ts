import { assertNever } from '../../base/assert-never.ts';
import { withoutTagAndDigest } from '../../base/image-name.ts';
import { isSameObject, type PulledFor } from './merge-pull-record.ts';
import type { ImagePullCredentials, ImagePulledRecord, ImagePullSecret } from './pull-record.ts';

/**
 * Which present images a pod may use only with credentials for them (kubelet's
 * `imagePullCredentialsVerificationPolicy`).
 */
export type VerificationPolicy =
  | { readonly kind: 'NeverVerify' }
  /** Verifies images that kubelet pulled itself. */
  | { readonly kind: 'NeverVerifyPreloadedImages' }
  /** Verifies all images but these: names without tag and digest, or prefixes that end in `/*`. */
  | { readonly kind: 'NeverVerifyAllowlistedImages'; readonly allowlist: readonly string[] }
  | { readonly kind: 'AlwaysVerify' };

/** The record on disk of a present image. */
export type PullEvidence =
  /** Kubelet has not pulled it. */
  | { readonly kind: 'none' }
  /** Kubelet began to pull it; the result is unknown. */
  | { readonly kind: 'intent' }
  | { readonly kind: 'pulled'; readonly record: ImagePulledRecord }
  | { readonly kind: 'unreadable' };

export type ImageAccessDecision =
  | { readonly kind: 'use' }
  | { readonly kind: 'pull' }
  /** The decision depends on the pod's credentials. */
  | { readonly kind: 'compare'; readonly known: ImagePullCredentials };

/** The number of Secrets that are recorded for an image without a new pull. */
const MAX_RECORDED_SECRETS = 100;

/** Decides whether a pod may use a present image, as far as possible without the pod's credentials. */
export function decideImageAccess(
  image: string,
  evidence: PullEvidence,
  policy: VerificationPolicy,
): ImageAccessDecision {
  if (evidence.kind === 'unreadable') return { kind: 'pull' };
  if (!mustVerify(image, evidence.kind !== 'none', policy)) return { kind: 'use' };
  if (evidence.kind !== 'pulled') return { kind: 'pull' };
  const known = evidence.record.credentialMapping?.[withoutTagAndDigest(image)];
  if (!known) return { kind: 'pull' };
  if (known.nodePodsAccessible) return { kind: 'use' };
  const { kubernetesSecrets = [], kubernetesServiceAccounts = [] } = known;
  const isProven = kubernetesSecrets.length > 0 || kubernetesServiceAccounts.length > 0;
  return isProven ? { kind: 'compare', known } : { kind: 'pull' };
}

/** The label of a decision that needed no credentials of the pod, as in kubelet. */
export function accessResult(
  { kind: evidence }: PullEvidence,
  { kind: decision }: ImageAccessDecision,
  image: string,
  policy: VerificationPolicy,
): 'credentialPolicyAllowed' | 'credentialRecordFound' | 'mustAuthenticate' | 'error' {
  if (evidence === 'unreadable') return 'error';
  if (decision !== 'use') return 'mustAuthenticate';
  return mustVerify(image, evidence !== 'none', policy) ? 'credentialRecordFound' : 'credentialPolicyAllowed';
}

function mustVerify(image: string, isPulledByKubelet: boolean, policy: VerificationPolicy): boolean {
  switch (policy.kind) {
    case 'NeverVerify':
      return false;
    case 'NeverVerifyPreloadedImages':
      return isPulledByKubelet;
    case 'NeverVerifyAllowlistedImages':
      return !policy.allowlist.some((pattern) => isAllowed(withoutTagAndDigest(image), pattern));
    case 'AlwaysVerify':
      return true;
    default:
      return assertNever(policy);
  }
}

function isAllowed(name: string, pattern: string): boolean {
  return pattern.endsWith('/*') ? name.startsWith(pattern.slice(0, -1)) : name === pattern;
}

export type CredentialMatch =
  | { readonly kind: 'use' }
  /** The Secret is added to the record: it differs from the recorded one but has the same login, or was changed. */
  | { readonly kind: 'useAndRemember'; readonly secret: ImagePullSecret }
  | { readonly kind: 'pull' };

/**
 * Matches the pod's credentials with the recorded ones: a Secret that the image was pulled with, a Secret with the same
 * login, or a service account that the image was pulled for.
 */
export function matchPodCredentials(known: ImagePullCredentials, ofPod: readonly PulledFor[]): CredentialMatch {
  const { kubernetesSecrets = [], kubernetesServiceAccounts = [] } = known;
  const secrets = ofPod.flatMap((each) => (each.kind === 'secret' ? [each.secret] : []));
  const bySecret = matchSecrets(kubernetesSecrets, secrets);
  if (bySecret.kind !== 'pull') return bySecret;
  const accounts = ofPod.flatMap((each) => (each.kind === 'serviceAccount' ? [each.account] : []));
  const isKnown = accounts.some((account) => kubernetesServiceAccounts.some((proven) => isSameObject(account, proven)));
  return isKnown ? { kind: 'use' } : { kind: 'pull' };
}

function matchSecrets(
  kubernetesSecrets: readonly ImagePullSecret[],
  ofPod: readonly ImagePullSecret[],
): CredentialMatch {
  const hasRoom = kubernetesSecrets.length < MAX_RECORDED_SECRETS;
  for (const secret of ofPod) {
    for (const proven of kubernetesSecrets) {
      const isSame = isSameObject(secret, proven);
      const hasSameLogin = proven.credentialHash !== '' && secret.credentialHash === proven.credentialHash;
      if (hasSameLogin) return isSame || !hasRoom ? { kind: 'use' } : { kind: 'useAndRemember', secret };
      if (isSame && hasRoom) return { kind: 'useAndRemember', secret };
    }
  }
  return { kind: 'pull' };
}
