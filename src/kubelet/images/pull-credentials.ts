import { type CredentialProvider, providerLogins } from './credential-provider.ts';
import type { ImageRequest } from './image-request.ts';
import { matchingCredentials } from './matching-credentials.ts';
import type { NodeLogins } from './node-logins.ts';
import type { PullCredential } from './registry-login.ts';

export interface PullCredentialsDeps {
  readonly nodeLogins: NodeLogins;
  /** In the order of configuration. */
  readonly providers: readonly CredentialProvider[];
}

/**
 * All credentials with which a pod may pull from a repository: its own Secrets, then the node's logins, then the
 * providers.
 */
export async function pullCredentials(
  repository: string,
  { pod, pullSecrets }: Pick<ImageRequest, 'pod' | 'pullSecrets'>,
  { nodeLogins, providers }: PullCredentialsDeps,
  signal: AbortSignal,
): Promise<readonly PullCredential[]> {
  const [ofNode, provided] = await Promise.all([
    nodeLogins.config(signal),
    providerLogins(repository, pod, providers, signal),
  ]);
  return [
    ...matchingCredentials(repository, pullSecrets),
    ...matchingCredentials(repository, [{ config: ofNode, owner: { kind: 'node' } }]),
    ...matchingCredentials(repository, provided),
  ];
}
