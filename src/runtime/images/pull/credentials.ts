import { CriError } from '../../../cri/cri-error.ts';
import type { AuthConfig } from '../../../cri/generated/runtime-v1.ts';

/** What somebody who pulls may show to a registry. */
export type Credentials =
  | { readonly kind: 'none' }
  | { readonly kind: 'password'; readonly username: string; readonly password: string }
  /** Exchanged for a token at the authorization server. */
  | { readonly kind: 'identity'; readonly token: string }
  /** Shown as it is. */
  | { readonly kind: 'token'; readonly token: string };

/**
 * Those for one host: as in containerd they are for the registry and its mirrors alike, unless they name the server that
 * they are for. Throws a `CriError`.
 */
export function credentialsFor(auth: AuthConfig | undefined, authority: string): Credentials {
  if (auth === undefined) return { kind: 'none' };
  if (auth.serverAddress !== '' && serverOf(auth.serverAddress) !== authority) return { kind: 'none' };
  if (auth.username !== '') return { kind: 'password', username: auth.username, password: auth.password };
  if (auth.identityToken !== '') return { kind: 'identity', token: auth.identityToken };
  if (auth.auth !== '') return decoded(auth.auth);
  if (auth.registryToken !== '') return { kind: 'token', token: auth.registryToken };
  return { kind: 'none' };
}

/** The `Authorization` of RFC 7617; `undefined` without a name and a password. */
export function basicAuthorization(credentials: Credentials): string | undefined {
  if (credentials.kind !== 'password' || credentials.password === '') return undefined;
  return `Basic ${Buffer.from(`${credentials.username}:${credentials.password}`).toString('base64')}`;
}

/** `https://index.docker.io/v1/` is for `index.docker.io`. */
function serverOf(address: string): string {
  return address.replace(/^[a-z][a-z0-9+.-]*:\/\//i, '').replace(/[/?#].*$/, '');
}

/** Of Docker's configuration: base64 of name and password, which an old tool filled up with zero bytes. */
function decoded(auth: string): Credentials {
  const isBase64 = /^[A-Za-z0-9+/]+={0,2}$/.test(auth);
  const [, username, password] = /^([^:]*):(.*?)\0*$/s.exec(Buffer.from(auth, 'base64').toString()) ?? [];
  if (!isBase64 || username === undefined || password === undefined) {
    throw new CriError('InvalidArgument', 'auth.auth: is not a name and a password in base64');
  }
  return { kind: 'password', username, password };
}
