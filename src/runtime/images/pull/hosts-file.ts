import { dirname, normalize, resolve } from 'node:path/posix';
import { parse, TomlError } from 'smol-toml';
import { DurationError, parseDurationMs } from '../../../base/duration.ts';
import { textOf } from '../../../base/text-of.ts';
import { type JsonObject, objectOf } from '../json-fields.ts';
import { HostsFileError } from './hosts-file-error.ts';
import { ALL_CAPABILITIES, type Capability, type Headers } from './registry-host.ts';

/** One host of a `hosts.toml`, or the registry itself where only certificates are given. */
export interface HostEntry {
  /** Absent: where the registry is by its name. */
  readonly place: { readonly scheme: 'http' | 'https'; readonly authority: string; readonly path: string } | undefined;
  readonly capabilities: ReadonlySet<Capability>;
  /** Absolute paths; absent: nothing is said. */
  readonly authorityFiles?: readonly string[];
  /** Without a key it is in the file of the certificate. */
  readonly clientFiles?: ReadonlyArray<{ readonly certificate: string; readonly key: string | undefined }>;
  readonly skipVerify?: boolean;
  readonly headers: Headers;
  readonly dialTimeoutMs?: number;
}

const HOST_FIELDS = ['capabilities', 'ca', 'client', 'skip_verify', 'header', 'override_path', 'dial_timeout'];

/**
 * Mirrors in the order of the file, then the server, as containerd reads it. What is unknown or wrong is refused and not
 * passed over: a mirror that nobody uses, or an authority that nobody trusts, is hard to find. Throws a `HostsFileError`.
 */
export function parseHostsFile(text: string, file: string): readonly HostEntry[] {
  const whole = parsedToml(text, file);
  const field = new FieldReader(file, '', whole);
  const mirrors = Object.entries(field.table('host')).map(([url, value]) => {
    const name = `host.${JSON.stringify(url)}`;
    const table = objectOf(value);
    if (table === undefined) throw field.fault(name, 'must be a table');
    return entryOf(url, new FieldReader(file, `${name}.`, table), HOST_FIELDS);
  });
  const server = entryOf(field.text('server'), field, [...HOST_FIELDS, 'server', 'host']);
  // Without a server it is the registry itself, which can do everything.
  return [...mirrors, server.place === undefined ? { ...server, capabilities: ALL_CAPABILITIES } : server];
}

function parsedToml(text: string, file: string): JsonObject {
  try {
    return parse(text);
  } catch (error) {
    if (!(error instanceof TomlError)) throw error;
    const [what = ''] = error.message.split('\n', 1);
    throw new HostsFileError(`${file}:${error.line}: ${what}`, { cause: error });
  }
}

function entryOf(url: string | undefined, field: FieldReader, known: readonly string[]): HostEntry {
  field.refuseOthers(known);
  const authorityFiles = field.paths('ca');
  const clientFiles = field.clients();
  const skipVerify = field.flag('skip_verify');
  const dialTimeoutMs = field.duration('dial_timeout');
  const keepsPath = field.flag('override_path') ?? false;
  return {
    place: url === undefined || url === '' ? undefined : placeOf(url, keepsPath, field),
    capabilities: field.capabilities(),
    ...(authorityFiles && { authorityFiles }),
    ...(clientFiles && { clientFiles }),
    ...(skipVerify !== undefined && { skipVerify }),
    headers: field.headers(),
    ...(dialTimeoutMs !== undefined && { dialTimeoutMs }),
  };
}

function placeOf(url: string, keepsPath: boolean, field: FieldReader): HostEntry['place'] {
  const whole = url.includes('://') ? url : `https://${url}`;
  const [, scheme, authority = '', path = ''] = /^(https?):\/\/([^/?#@\\\s]+)(\/[^?#\s]*)?$/.exec(whole) ?? [];
  if ((scheme !== 'http' && scheme !== 'https') || !URL.canParse(`${scheme}://${authority}`)) {
    throw field.fault(
      '',
      `${JSON.stringify(url)} is not the address of a registry, such as https://mirror.example.com`,
    );
  }
  const clean = path === '' ? '' : normalize(path).replace(/\/+$/, '');
  const isWhole = keepsPath || clean.endsWith('/v2');
  return { scheme, authority, path: isWhole ? clean : `${clean}/v2` };
}

/** The fields of one table; absent ones are `undefined`. */
class FieldReader {
  readonly #file: string;
  readonly #prefix: string;
  readonly #table: JsonObject;

  constructor(file: string, prefix: string, table: JsonObject) {
    this.#file = file;
    this.#prefix = prefix;
    this.#table = table;
  }

  fault(name: string, what: string): HostsFileError {
    const where = `${this.#prefix}${name}`.replace(/\.$/, '');
    return new HostsFileError(`${this.#file}: ${where === '' ? 'server' : where}: ${what}`);
  }

  refuseOthers(known: readonly string[]): void {
    const unknown = Object.keys(this.#table).find((key) => !known.includes(key));
    if (unknown !== undefined) throw this.fault(unknown, 'unknown field');
  }

  table(name: string): JsonObject {
    const table = this.#table[name] === undefined ? {} : objectOf(this.#table[name]);
    if (table === undefined) throw this.fault(name, 'must be a table');
    return table;
  }

  text(name: string): string | undefined {
    const value = this.#table[name];
    if (value !== undefined && typeof value !== 'string') throw this.fault(name, 'must be a text');
    return value;
  }

  flag(name: string): boolean | undefined {
    const value = this.#table[name];
    if (value !== undefined && typeof value !== 'boolean') throw this.fault(name, 'must be true or false');
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
      throw this.fault(name, textOf(error));
    }
    throw this.fault(name, 'must be more than nothing');
  }

  /** A push is never made from here, and referrers are never asked for; both may be written. */
  capabilities(): ReadonlySet<Capability> {
    const given = this.#texts('capabilities', this.#table['capabilities'] ?? []);
    if (given.length === 0) return ALL_CAPABILITIES;
    const found = given.map((each) => each.toLowerCase());
    const unknown = found.find((each) => !['pull', 'resolve', 'push', 'referrers'].includes(each));
    if (unknown !== undefined) throw this.fault('capabilities', `unknown capability ${JSON.stringify(unknown)}`);
    return new Set((['pull', 'resolve'] as const).filter((each) => found.includes(each)));
  }

  paths(name: string): readonly string[] | undefined {
    const value = this.#table[name];
    if (value === undefined) return undefined;
    return this.#texts(name, typeof value === 'string' ? [value] : value).map((path) => this.#absolute(path));
  }

  /** A file, files, or pairs of certificate and key. */
  clients(): HostEntry['clientFiles'] {
    const value = this.#table['client'];
    if (value === undefined) return undefined;
    const list: unknown = typeof value === 'string' ? [value] : value;
    if (!Array.isArray(list)) throw this.fault('client', 'must be a path, or a list of paths or pairs of them');
    return list.map((each: unknown) => {
      const [certificate, key = '', ...more] = this.#texts('client', typeof each === 'string' ? [each] : each);
      if (certificate === undefined || more.length > 0) throw this.fault('client', 'a pair has two paths');
      return { certificate: this.#absolute(certificate), key: key === '' ? undefined : this.#absolute(key) };
    });
  }

  headers(): Headers {
    return Object.entries(this.table('header')).flatMap(([name, value]) => {
      const at = `header.${name}`;
      if (!/^[\w!#$%&'*+.^`|~-]+$/.test(name)) throw this.fault(at, 'is not the name of a header');
      if (name.toLowerCase() === 'host') throw this.fault(at, 'is what the address says');
      return this.#texts(at, typeof value === 'string' ? [value] : value).map((each) => {
        if (!/^[\t\x20-\x7e\x80-\xff]*$/.test(each)) throw this.fault(at, 'has a character that no header may have');
        return [name, each] as const;
      });
    });
  }

  #texts(name: string, value: unknown): readonly string[] {
    const isList = Array.isArray(value) && value.every((each) => typeof each === 'string');
    if (!isList) throw this.fault(name, 'must be a text or a list of texts');
    return value;
  }

  #absolute(path: string): string {
    return resolve(dirname(this.#file), path);
  }
}
