import type { Pod } from '../../api/generated/core-v1.ts';
import type { IssuedToken } from '../api-client/api-server.ts';

/** The requested properties of a token, as in a projected volume. */
export interface TokenOptions {
  /** Absent: the API server. */
  readonly audience?: string | undefined;
  /** Absent: the API server's default. */
  readonly expirationSeconds?: number | undefined;
  /** Only a token of the account with this UID. Absent: of the account that has the name. */
  readonly accountUid?: string | undefined;
}

/** Provides the service account tokens of pods. */
export interface PodTokens {
  /** Returns a valid token. Rejects with a `TokenError`. */
  token(pod: Pod, options: TokenOptions, signal: AbortSignal): Promise<string>;
  /** The same with its expiry. */
  issued(pod: Pod, options: TokenOptions, signal: AbortSignal): Promise<IssuedToken>;
  /** Called when no container of the pod runs any more. */
  forget(uid: string): void;
}

/** A token could not be obtained. The message is kubelet's. */
export class TokenError extends Error {
  override readonly name = 'TokenError';
}

/** Standalone: there is no API server that issues tokens. */
export const NO_TOKENS: PodTokens = {
  token: noToken,
  issued: noToken,
  forget() {},
};

async function noToken(): Promise<never> {
  throw new TokenError('cannot use TokenManager when kubelet is in standalone mode');
}
