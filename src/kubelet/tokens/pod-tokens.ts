import type { Pod } from '../../api/generated/core-v1.ts';

/** What a token is to be like; a projection of a volume says so too. */
export interface TokenOptions {
  /** Absent: the API server itself. */
  readonly audience?: string | undefined;
  /** Absent: as long as the API server thinks right. */
  readonly expirationSeconds?: number | undefined;
  /** Only of this account, and not of another that has its name now; absent: of whichever has the name. */
  readonly accountUid?: string | undefined;
}

/** Tokens by which pods are known to others, wherever they come from. */
export interface PodTokens {
  /** One that is good for now. Rejects with a `TokenError`. */
  token(pod: Pod, options: TokenOptions, signal: AbortSignal): Promise<string>;
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
