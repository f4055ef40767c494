import { CriError } from '../../../cri/cri-error.ts';
import type { AuthConfig } from '../../../cri/generated/runtime-v1.ts';

/** The credentials of a pull. */
export type Credentials =
  | { readonly kind: 'none' }
  | { readonly kind: 'password'; readonly username: string; readonly password: string }
  /** Exchanged for a token at the authorization server. */
  | { readonly kind: 'identity'; readonly token: string }
  /** Sent as a bearer token. */
  | { readonly kind: 'token'; readonly token: string };

/**
 * Returns the credentials for one host. As in containerd they apply to the registry and its mirrors alike, unless they
 * name a server. Throws `CriError`.
 */
export function credentialsFor(auth: AuthConfig | undefined, authority: string): Credentials {
  if (auth === undefined) return { kind: 'none' };
  if (auth.serverAddress !== '' && serverName(auth.serverAddress) !== authority) return { kind: 'none' };
  if (auth.username !== '') return { kind: 'password', username: auth.username, password: auth.password };
  if (auth.identityToken !== '') return { kind: 'identity', token: auth.identityToken };
  if (auth.auth !== '') return decodeDockerAuth(auth.auth);
  if (auth.registryToken !== '') return { kind: 'token', token: auth.registryToken };
  return { kind: 'none' };
}

/** Returns the `Authorization` of RFC 7617; `undefined` without a user name and password. */
export function basicAuthorization(credentials: Credentials): string | undefined {
  if (credentials.kind !== 'password' || credentials.password === '') return undefined;
  return `Basic ${Buffer.from(`${credentials.username}:${credentials.password}`).toString('base64')}`;
}

/** `https://index.docker.io/v1/` is for `index.docker.io`. */
function serverName(address: string): string {
  return address.replace(/^[a-z][a-z0-9+.-]*:\/\//i, '').replace(/[/?#].*$/, '');
}

/** Decodes Docker's format: base64 of name and password, which an old tool padded with zero bytes. */
function decodeDockerAuth(auth: string): Credentials {
  const isBase64 = /^[A-Za-z0-9+/]+={0,2}$/.test(auth);
  const pair = Buffer.from(auth, 'base64').toString();
  const colon = pair.indexOf(':');
  if (!isBase64 || colon < 0) {
    throw new CriError('InvalidArgument', 'auth.auth: is not a user name and password in base64');
  }
  return { kind: 'password', username: pair.slice(0, colon), password: withoutZeros(pair.slice(colon + 1)) };
}

/** In linear time: the text is that of a pod's secret. */
function withoutZeros(text: string): string {
  let end = text.length;
  while (end > 0 && text.charCodeAt(end - 1) === 0) end--;
  return text.slice(0, end);
}
