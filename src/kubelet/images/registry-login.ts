import { createHash } from 'node:crypto';

/** With what a registry lets somebody in. */
export interface RegistryLogin {
  readonly username: string;
  readonly password: string;
  readonly email: string;
}

/** Logins by the registries and paths that they are for, as a docker configuration has them. */
export type DockerConfig = ReadonlyMap<string, RegistryLogin>;

/** Which object of the API server it is, and not another that has its name now. */
export interface ObjectCoordinates {
  readonly uid: string;
  readonly namespace: string;
  readonly name: string;
}

/** Whose a login is: the node's, and so every pod's, or that of the pods with a Secret or a service account. */
export type LoginOwner =
  | { readonly kind: 'node' }
  | { readonly kind: 'secret'; readonly secret: ObjectCoordinates }
  | { readonly kind: 'serviceAccount'; readonly account: ObjectCoordinates };

/** A docker configuration, and whose it is. */
export interface LoginSource {
  readonly config: DockerConfig;
  readonly owner: LoginOwner;
}

/** A login that may be tried for a pull. */
export interface PullCredential {
  readonly login: RegistryLogin;
  /** The same for the same login: records on disk have it in place of the login. */
  readonly hash: string;
  readonly owner: LoginOwner;
}

/** SHA-256 of the login as Go's JSON has it: without what is empty, and with what HTML treats specially escaped. */
export function loginHash({ username, password, email }: RegistryLogin): string {
  const present = Object.entries({ username, password, email }).filter(([, value]) => value !== '');
  const json = JSON.stringify(Object.fromEntries(present)).replaceAll(/[<>&\u2028\u2029]/g, escaped);
  return createHash('sha256').update(json).digest('hex');
}

function escaped(character: string): string {
  return `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`;
}
