import type {
  Claim,
  Device,
  NodePrepareResourcesResponse,
  NodeUnprepareResourcesResponse,
} from '../../plugins/generated/dra-v1.ts';
import { type ClaimDevice, claimKey } from './claim-info.ts';

/** The devices of each claim of the request, by its key. Throws kubelet's message for an answer that is not complete. */
export function checkPrepared(
  claims: readonly Claim[],
  { claims: answers }: NodePrepareResourcesResponse,
): ReadonlyMap<string, readonly ClaimDevice[]> {
  checkAnswers('NodePrepareResources', claims, answers);
  return new Map(claims.map((claim) => [claimKey(claim), (answers[claim.uid]?.devices ?? []).map(toClaimDevice)]));
}

export function checkUnprepared(claims: readonly Claim[], { claims: answers }: NodeUnprepareResourcesResponse): void {
  checkAnswers('NodeUnprepareResources', claims, answers);
}

function checkAnswers(
  rpc: string,
  claims: readonly Claim[],
  answers: Readonly<Record<string, { readonly error: string }>>,
): void {
  for (const [uid, { error }] of Object.entries(answers)) {
    const claim = claims.find((each) => each.uid === uid);
    if (!claim) throw new Error(`${rpc} returned result for unknown claim UID ${uid}`);
    if (error !== '') throw new Error(`${rpc} failed for ResourceClaim ${claim.name}: ${error}`);
  }
  const skipped = claims.length - Object.keys(answers).length;
  if (skipped !== 0) throw new Error(`${rpc} skipped ${skipped} ResourceClaims`);
}

function toClaimDevice({ poolName, deviceName, shareId, requestNames, cdiDeviceIds }: Device): ClaimDevice {
  return { poolName, deviceName, ...(shareId !== '' && { shareId }), requestNames, cdiDeviceIds };
}
