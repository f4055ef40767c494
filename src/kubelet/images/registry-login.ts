import { createHash } from 'node:crypto';

/** The credentials of a registry. */
export interface RegistryLogin {
  readonly username: string;
  readonly password: string;
  readonly email: string;
}

/** Logins by registry address, as in a docker configuration. */
export type DockerConfig = ReadonlyMap<string, RegistryLogin>;

/** Identifies an object of the API server, including its UID. */
export interface ObjectCoordinates {
  readonly uid: string;
  readonly namespace: string;
  readonly name: string;
}

/** The owner of a login: the node, and thereby every pod, or the pods with a Secret or a service account. */
export type LoginOwner =
  | { readonly kind: 'node' }
  | { readonly kind: 'secret'; readonly secret: ObjectCoordinates }
  | { readonly kind: 'serviceAccount'; readonly account: ObjectCoordinates };

/** A docker configuration and its owner. */
export interface LoginSource {
  readonly config: DockerConfig;
  readonly owner: LoginOwner;
}

/** A login that can be tried for a pull. */
export interface PullCredential {
  readonly login: RegistryLogin;
  /** Identifies the login in records on disk. */
  readonly hash: string;
  readonly owner: LoginOwner;
}

/** SHA-256 of the login in Go's JSON encoding: without empty fields, and with HTML characters escaped. */
export function loginHash({ username, password, email }: RegistryLogin): string {
  const present = Object.entries({ username, password, email }).filter(([, value]) => value !== '');
  const json = JSON.stringify(Object.fromEntries(present)).replaceAll(/[<>&\u2028\u2029]/g, escaped);
  return createHash('sha256').update(json).digest('hex');
}

function escaped(character: string): string {
  return `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`;
}
