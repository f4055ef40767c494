import type { Pod, ServiceAccountTokenProjection } from '../../api/generated/core-v1.ts';

/** Tokens by which pods are known to others, wherever they come from. */
export interface PodTokens {
  /** One that is good for now. Rejects with a `TokenError`. */
  token(pod: Pod, projection: ServiceAccountTokenProjection, signal: AbortSignal): Promise<string>;
  /** Nothing of the pod runs any more. */
  forget(uid: string): void;
}

/** Why a token could not be had; the message is kubelet's own. */
export class TokenError extends Error {
  override readonly name = 'TokenError';
}

/** Without an API server there is nobody who gives any out. */
export const NO_TOKENS: PodTokens = {
  async token() {
    throw new TokenError('cannot use TokenManager when kubelet is in standalone mode');
  },
  forget() {},
};
