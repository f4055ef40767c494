import { pathMatches } from '../../base/go/path-match.ts';

/** A registry address with an optional path: `*.example.com:5000/team`. Only the host may contain wildcards. */
export interface RegistryPattern {
  readonly hostParts: readonly string[];
  readonly port: string;
  readonly path: string;
}

/** The text is not a registry address. The message is that of Go's URL parser. */
export class RegistryPatternError extends Error {
  override readonly name = 'RegistryPatternError';
}

/** Parses an address without a scheme. Throws a `RegistryPatternError`. */
export function parseRegistryPattern(text: string): RegistryPattern {
  const { host, path } = parseAddress(text);
  const { name, port } = splitPort(host);
  return { hostParts: name.split('.'), port, path };
}

/** The host with port and the path of an address. Throws a `RegistryPatternError`. */
export function parseAddress(text: string): { readonly host: string; readonly path: string } {
  const fail = (why: string): RegistryPatternError =>
    new RegistryPatternError(`parse ${JSON.stringify(`https://${text}`)}: ${why}`);
  // biome-ignore lint/suspicious/noControlCharactersInRegex: these are what is looked for
  if (/[\u0000-\u001f\u007f]/.test(text)) throw fail('net/url: invalid control character in URL');
  const [address = ''] = text.split(/[?#]/, 1);
  const slash = address.indexOf('/');
  const authority = slash < 0 ? address : address.slice(0, slash);
  const host = authority.slice(authority.lastIndexOf('@') + 1);
  const misfit = /[ "\\^`{|}<>]/.exec(host)?.[0];
  if (misfit !== undefined) throw fail(`invalid character ${JSON.stringify(misfit)} in host name`);
  if (host.startsWith('[') && !host.includes(']')) throw fail("missing ']' in host");
  const port = portOf(host);
  if (port !== '' && !/^:[0-9]*$/.test(port)) throw fail(`invalid port "${port}" after host`);
  const path = slash < 0 ? '' : address.slice(slash);
  const badEscape = /%.{0,2}/.exec(host)?.[0] ?? /%(?![0-9A-Fa-f]{2}).{0,2}/.exec(path)?.[0];
  if (badEscape !== undefined) throw fail(`invalid URL escape ${JSON.stringify(badEscape)}`);
  return { host, path: unescaped(path) };
}

/** From its colon on; for an address in brackets, everything after them. */
function portOf(host: string): string {
  if (host.startsWith('[')) return host.slice(host.lastIndexOf(']') + 1);
  const colon = host.lastIndexOf(':');
  return colon < 0 ? '' : host.slice(colon);
}

function unescaped(path: string): string {
  try {
    return decodeURIComponent(path);
  } catch {
    return path; // not UTF-8: no image has such a path
  }
}

/**
 * Whether logins for `pattern` apply to `target`: the same number of host parts, the same port, and a path below the
 * pattern's.
 */
export function matchesRegistry(pattern: RegistryPattern, target: RegistryPattern): boolean {
  if (pattern.port !== target.port || pattern.hostParts.length !== target.hostParts.length) return false;
  if (!target.path.startsWith(pattern.path)) return false;
  return pattern.hostParts.every((part, index) => pathMatches(part, target.hostParts[index] ?? ''));
}

function splitPort(host: string): { readonly name: string; readonly port: string } {
  const [, bracketed, plain, port = ''] = /^(?:\[(.*)\]|([^:[\]]*)):([^:]*)$/.exec(host) ?? [];
  const name = bracketed ?? plain;
  return name === undefined ? { name: host, port: '' } : { name, port };
}
