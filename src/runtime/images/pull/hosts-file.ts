import { dirname, normalize, resolve } from 'node:path/posix';
import { parse, TomlError } from 'smol-toml';
import { DurationError, parseDurationMs } from '../../../base/duration.ts';
import { errorText } from '../../../base/error-text.ts';
import { asObject, type JsonObject } from '../json-fields.ts';
import { HostsFileError } from './hosts-file-error.ts';
import { ALL_CAPABILITIES, type Capability, type Headers } from './registry-host.ts';

/** One host of a `hosts.toml`, or the registry itself if there are only certificates. */
export interface HostEntry {
  /** Absent: the registry's default endpoint. */
  readonly endpoint:
    | { readonly scheme: 'http' | 'https'; readonly authority: string; readonly path: string }
    | undefined;
  readonly capabilities: ReadonlySet<Capability>;
  /** Absolute paths; absent: not configured. */
  readonly authorityFiles?: readonly string[];
  /** Without `key` the private key is in the certificate's file. */
  readonly clientFiles?: ReadonlyArray<{ readonly certificate: string; readonly key: string | undefined }>;
  readonly skipVerify?: boolean;
  readonly headers: Headers;
  readonly dialTimeoutMs?: number;
}

const HOST_FIELDS = ['capabilities', 'ca', 'client', 'skip_verify', 'header', 'override_path', 'dial_timeout'];

/**
 * Returns the mirrors in the order of the file, then the server, as containerd does. Unknown and invalid fields are
 * errors: a mirror that is silently unused or a certificate authority that is silently ignored is hard to find. Throws
 * `HostsFileError`.
 */
export function parseHostsFile(text: string, file: string): readonly HostEntry[] {
  const whole = parseToml(text, file);
  const field = new FieldReader(file, '', whole);
  const mirrors = Object.entries(field.table('host')).map(([url, value]) => {
    const name = `host.${JSON.stringify(url)}`;
    const table = asObject(value);
    if (table === undefined) throw field.error(name, 'must be a table');
    return parseEntry(url, new FieldReader(file, `${name}.`, table), HOST_FIELDS);
  });
  const server = parseEntry(field.text('server'), field, [...HOST_FIELDS, 'server', 'host']);
  // Without `server` the last host is the registry itself, which has all capabilities.
  return [...mirrors, server.endpoint === undefined ? { ...server, capabilities: ALL_CAPABILITIES } : server];
}

function parseToml(text: string, file: string): JsonObject {
  try {
    return parse(text);
  } catch (error) {
    if (!(error instanceof TomlError)) throw error;
    const [what = ''] = error.message.split('\n', 1);
    throw new HostsFileError(`${file}:${error.line}: ${what}`, { cause: error });
  }
}

function parseEntry(url: string | undefined, field: FieldReader, known: readonly string[]): HostEntry {
  field.rejectUnknown(known);
  const authorityFiles = field.paths('ca');
  const clientFiles = field.clients();
  const skipVerify = field.flag('skip_verify');
  const dialTimeoutMs = field.duration('dial_timeout');
  const keepsPath = field.flag('override_path') ?? false;
  return {
    endpoint: url === undefined || url === '' ? undefined : parseEndpoint(url, keepsPath, field),
    capabilities: field.capabilities(),
    ...(authorityFiles && { authorityFiles }),
    ...(clientFiles && { clientFiles }),
    ...(skipVerify !== undefined && { skipVerify }),
    headers: field.headers(),
    ...(dialTimeoutMs !== undefined && { dialTimeoutMs }),
  };
}

function parseEndpoint(url: string, keepsPath: boolean, field: FieldReader): HostEntry['endpoint'] {
  const whole = url.includes('://') ? url : `https://${url}`;
  const [, scheme, authority = '', path = ''] = /^(https?):\/\/([^/?#@\\\s]+)(\/[^?#\s]*)?$/.exec(whole) ?? [];
  if ((scheme !== 'http' && scheme !== 'https') || !URL.canParse(`${scheme}://${authority}`)) {
    throw field.error('', `${JSON.stringify(url)} is not a registry URL such as https://mirror.example.com`);
  }
  const clean = path === '' ? '' : normalize(path).replace(/\/+$/, '');
  const isWhole = keepsPath || clean.endsWith('/v2');
  return { scheme, authority, path: isWhole ? clean : `${clean}/v2` };
}

/** Reads the fields of one table; absent ones are `undefined`. */
class FieldReader {
  readonly #file: string;
  readonly #prefix: string;
  readonly #table: JsonObject;

  constructor(file: string, prefix: string, table: JsonObject) {
    this.#file = file;
    this.#prefix = prefix;
    this.#table = table;
  }

  error(name: string, what: string): HostsFileError {
    const where = `${this.#prefix}${name}`.replace(/\.$/, '');
    return new HostsFileError(`${this.#file}: ${where === '' ? 'server' : where}: ${what}`);
  }

  rejectUnknown(known: readonly string[]): void {
    const unknown = Object.keys(this.#table).find((key) => !known.includes(key));
    if (unknown !== undefined) throw this.error(unknown, 'unknown field');
  }

  table(name: string): JsonObject {
    const table = this.#table[name] === undefined ? {} : asObject(this.#table[name]);
    if (table === undefined) throw this.error(name, 'must be a table');
    return table;
  }

  text(name: string): string | undefined {
    const value = this.#table[name];
    if (value !== undefined && typeof value !== 'string') throw this.error(name, 'must be a string');
    return value;
  }

  flag(name: string): boolean | undefined {
    const value = this.#table[name];
    if (value !== undefined && typeof value !== 'boolean') throw this.error(name, 'must be true or false');
    return value;
  }

  duration(name: string): number | undefined {
    const text = this.text(name);
    if (text === undefined || text === '') return undefined;
    try {
      const ms = parseDurationMs(text);
      if (ms > 0) return ms;
    } catch (error) {
      if (!(error instanceof DurationError)) throw error;
      throw this.error(name, errorText(error));
    }
    throw this.error(name, 'must be greater than 0');
  }

  /** `push` and `referrers` are accepted and unused. */
  capabilities(): ReadonlySet<Capability> {
    const given = this.#strings('capabilities', this.#table['capabilities'] ?? []);
    if (given.length === 0) return ALL_CAPABILITIES;
    const found = given.map((each) => each.toLowerCase());
    const unknown = found.find((each) => !['pull', 'resolve', 'push', 'referrers'].includes(each));
    if (unknown !== undefined) throw this.error('capabilities', `unknown capability ${JSON.stringify(unknown)}`);
    return new Set((['pull', 'resolve'] as const).filter((each) => found.includes(each)));
  }

  paths(name: string): readonly string[] | undefined {
    const value = this.#table[name];
    if (value === undefined) return undefined;
    return this.#strings(name, typeof value === 'string' ? [value] : value).map((path) => this.#absolute(path));
  }

  /** Accepts a path, paths, or pairs of certificate and key. */
  clients(): HostEntry['clientFiles'] {
    const value = this.#table['client'];
    if (value === undefined) return undefined;
    const list: unknown = typeof value === 'string' ? [value] : value;
    if (!Array.isArray(list)) throw this.error('client', 'must be a path, or a list of paths or pairs of them');
    return list.map((each: unknown) => {
      const [certificate, key = '', ...more] = this.#strings('client', typeof each === 'string' ? [each] : each);
      if (certificate === undefined || more.length > 0) throw this.error('client', 'a pair has two paths');
      return { certificate: this.#absolute(certificate), key: key === '' ? undefined : this.#absolute(key) };
    });
  }

  headers(): Headers {
    return Object.entries(this.table('header')).flatMap(([name, value]) => {
      const at = `header.${name}`;
      if (!/^[\w!#$%&'*+.^`|~-]+$/.test(name)) throw this.error(at, 'is not a header name');
      if (name.toLowerCase() === 'host') throw this.error(at, 'cannot be set');
      return this.#strings(at, typeof value === 'string' ? [value] : value).map((each) => {
        if (!/^[\t\x20-\x7e\x80-\xff]*$/.test(each))
          throw this.error(at, 'has a character that is not allowed in headers');
        return [name, each] as const;
      });
    });
  }

  #strings(name: string, value: unknown): readonly string[] {
    const isList = Array.isArray(value) && value.every((each) => typeof each === 'string');
    if (!isList) throw this.error(name, 'must be a string or a list of strings');
    return value;
  }

  #absolute(path: string): string {
    return resolve(dirname(this.#file), path);
  }
}
