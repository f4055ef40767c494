import type { DockerConfig, RegistryLogin } from './registry-login.ts';

/** The text is not a docker configuration. The message never quotes the text, which contains passwords. */
export class DockerConfigError extends Error {
  override readonly name = 'DockerConfigError';
}

/** `{"auths": {"registry.example": {"auth": "…"}}}`, as in `~/.docker/config.json`. Throws a `DockerConfigError`. */
export function parseDockerConfigJson(text: string): DockerConfig {
  return decodeLogins(member(asObject(parseJson(text), 'the configuration'), 'auths'));
}

/** `{"registry.example": {"auth": "…"}}`, as in `~/.dockercfg`. Throws a `DockerConfigError`. */
export function parseDockercfg(text: string): DockerConfig {
  return decodeLogins(parseJson(text));
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw new DockerConfigError('error occurred while trying to unmarshal json');
  }
}

function decodeLogins(auths: unknown): DockerConfig {
  const entries = Object.entries(asObject(auths, 'the list of registries'));
  return new Map(entries.map(([place, entry]) => [place, decodeLogin(asObject(entry, 'an entry'))]));
}

function decodeLogin(entry: object): RegistryLogin {
  const [username, password, email, auth] = ['username', 'password', 'email', 'auth'].map((name) => text(entry, name));
  const login = { username: username ?? '', password: password ?? '', email: email ?? '' };
  return auth ? { ...login, ...decodeAuth(auth) } : login;
}

/** The base64 of `username:password`, with padding or without. */
function decodeAuth(auth: string): Pick<RegistryLogin, 'username' | 'password'> {
  const digits = auth.replaceAll(/[\r\n]/g, '');
  const [, body = '', padding = ''] = /^([A-Za-z0-9+/]*)(={0,2})$/.exec(digits) ?? [];
  const isWhole = digits !== '' && body !== '' && (padding === '' ? body.length % 4 !== 1 : digits.length % 4 === 0);
  if (!isWhole) throw new DockerConfigError('the auth field of an entry is not base64');
  const decoded = Buffer.from(body, 'base64').toString('utf8');
  const colon = decoded.indexOf(':');
  if (colon < 0) {
    throw new DockerConfigError('unable to parse auth field, must be formatted as base64(username:password)');
  }
  return { username: decoded.slice(0, colon), password: decoded.slice(colon + 1) };
}

/** Go decodes null and absent values as an empty object. */
function asObject(value: unknown, what: string): object {
  if (value === undefined || value === null) return {};
  if (typeof value === 'object' && !Array.isArray(value)) return value;
  throw new DockerConfigError(`${what} is not an object`);
}

/** Go matches field names case-insensitively; the last one wins. */
function member(object: object, name: string): unknown {
  return Object.entries(object).findLast(([key]) => key.toLowerCase() === name)?.[1];
}

function text(entry: object, name: string): string {
  const value = member(entry, name) ?? '';
  if (typeof value === 'string') return value;
  throw new DockerConfigError(`the field ${name} of an entry is not a string`);
}
