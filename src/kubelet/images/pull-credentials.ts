import { type CredentialProvider, loginsOfProviders } from './credential-provider.ts';
import { credentialsFor } from './credentials-for.ts';
import type { NodeLogins } from './node-logins.ts';
import type { LoginSource, PullCredential } from './registry-login.ts';

export interface PullCredentialsDeps {
  readonly nodeLogins: NodeLogins;
  /** In the order of their configuration. */
  readonly providers: readonly CredentialProvider[];
}

/** All that may let a pod pull from a repository: its own Secrets first, then the node's logins, then the providers. */
export async function pullCredentials(
  repository: string,
  ofPod: readonly LoginSource[],
  { nodeLogins, providers }: PullCredentialsDeps,
  signal: AbortSignal,
): Promise<readonly PullCredential[]> {
  const [ofNode, provided] = await Promise.all([
    nodeLogins.config(signal),
    loginsOfProviders(repository, providers, signal),
  ]);
  return [
    ...credentialsFor(repository, ofPod),
    ...credentialsFor(repository, [{ config: ofNode, secret: undefined }]),
    ...credentialsFor(repository, provided),
  ];
}
