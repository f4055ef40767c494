import { resolve } from 'node:path/posix';
import type { CgroupDriver } from '../../host/cgroups.ts';
import type { HandlerNetwork, PrivilegedDevices } from '../../runtime/settings/runtime-settings.ts';
import { didYouMean } from '../config/closest-name.ts';
import { type JsonObject, type JsonValue, objectOf } from '../config/json-value.ts';
import { annotationPatternError } from './annotation-pattern.ts';
import {
  type FileConfiguration,
  type FileHandler,
  handlerField,
  isEndpoint,
  isHandlerName,
  METRICS_ADDRESS,
  metricsAddress,
} from './runtime-configuration.ts';

type Report = (path: string, message: string) => void;

const CGROUP_DRIVERS: readonly CgroupDriver[] = ['cgroupfs', 'systemd'];

/**
 * Converts a document of the right types. Reports values that are wrong. Relative paths start at `folder`, that of the
 * file; null counts as absent.
 */
export function decodeRuntimeConfig(document: JsonObject, folder: string, report: Report): FileConfiguration {
  const fields = new Fields(document, '', folder, report);
  const handlers = Object.entries(objectOf(document['runtimeHandlers'])).flatMap(
    ([name, value]): [string, FileHandler][] => {
      if (isHandlerName(name)) return [[name, decodeHandler(name, objectOf(value), folder, report)]];
      report('runtimeHandlers', `invalid name ${JSON.stringify(name)}: expected letters, digits, "-" and "."`);
      return [];
    },
  );
  const given = withoutUndefined({
    rootDir: fields.path('rootDir'),
    stateDir: fields.path('stateDir'),
    listen: fields.text('listen', isEndpoint, 'a socket such as unix:///run/nodelet/cri.sock'),
    metricsListen: fields.parsed('metricsListen', metricsAddress, METRICS_ADDRESS),
    cniConfDir: fields.path('cniConfDir'),
    cniBinDirs: fields.paths('cniBinDirs'),
    cniMaxConfNum: fields.wholeNumber('cniMaxConfNum'),
    cgroupDriver: fields.oneOf('cgroupDriver', CGROUP_DRIVERS),
    nriSocket: fields.path('nriSocket'),
    registryConfigDirs: fields.paths('registryConfigDirs'),
    verbosity: fields.wholeNumber('verbosity'),
    defaultRuntimeHandler: fields.text('defaultRuntimeHandler', isHandlerName, 'the name of a runtime handler'),
  });
  return { ...given, handlers: new Map(handlers) };
}

function decodeHandler(name: string, document: JsonObject, folder: string, report: Report): FileHandler {
  const fields = new Fields(document, handlerField(name, ''), folder, report);
  return {
    program: fields.path('runtimePath'),
    runtimeRoot: fields.path('runtimeRoot'),
    cgroupDriver: fields.oneOf('cgroupDriver', CGROUP_DRIVERS),
    cgroupWritable: fields.boolean('cgroupWritable'),
    privilegedDevices: privilegedDevices(fields),
    podAnnotations: annotationPatterns('podAnnotations', fields),
    containerAnnotations: annotationPatterns('containerAnnotations', fields),
    network: handlerNetwork(fields),
    baseRuntimeSpec: fields.path('baseRuntimeSpec'),
  };
}

function privilegedDevices(fields: Fields): PrivilegedDevices {
  const withoutHostDevices = fields.boolean('privilegedWithoutHostDevices');
  const allAllowed = fields.boolean('privilegedWithoutHostDevicesAllDevicesAllowed');
  if (withoutHostDevices) return allAllowed ? 'requestedWithAllAllowed' : 'requested';
  if (allAllowed) {
    fields.report('privilegedWithoutHostDevicesAllDevicesAllowed', 'requires privilegedWithoutHostDevices to be true');
  }
  return 'host';
}

function annotationPatterns(field: string, fields: Fields): readonly string[] {
  const patterns = fields.texts(field) ?? [];
  for (const [index, pattern] of patterns.entries()) {
    const error = annotationPatternError(pattern);
    if (error !== undefined) fields.report(`${field}[${index}]`, error);
  }
  return patterns;
}

function handlerNetwork(fields: Fields): HandlerNetwork | undefined {
  const confDir = fields.path('cniConfDir');
  const maxConfigs = fields.wholeNumber('cniMaxConfNum');
  if (confDir !== undefined) return { confDir, maxConfigs };
  if (maxConfigs !== undefined) fields.report('cniMaxConfNum', 'requires cniConfDir');
  return undefined;
}

/** Reads fields whose types were checked; `undefined` for an absent field and, with a report, for a wrong value. */
class Fields {
  readonly #document: JsonObject;
  readonly #prefix: string;
  readonly #folder: string;
  readonly #report: Report;

  constructor(document: JsonObject, prefix: string, folder: string, report: Report) {
    this.#document = document;
    this.#prefix = prefix;
    this.#folder = folder;
    this.#report = report;
  }

  report(field: string, message: string): undefined {
    this.#report(`${this.#prefix}${field}`, message);
  }

  boolean(field: string): boolean {
    return this.#document[field] === true;
  }

  wholeNumber(field: string): number | undefined {
    const value = this.#document[field];
    if (typeof value !== 'number') return undefined;
    return value >= 0 ? value : this.report(field, `must not be negative, got ${value}`);
  }

  text(field: string, isValid: (text: string) => boolean, expected: string): string | undefined {
    const value = this.#document[field];
    if (typeof value !== 'string') return undefined;
    return isValid(value) ? value : this.report(field, `expected ${expected}, got ${JSON.stringify(value)}`);
  }

  parsed<T>(field: string, parse: (text: string) => T | undefined, expected: string): T | undefined {
    const value = this.#document[field];
    if (typeof value !== 'string') return undefined;
    return parse(value) ?? this.report(field, `expected ${expected}, got ${JSON.stringify(value)}`);
  }

  oneOf<T extends string>(field: string, allowed: readonly T[]): T | undefined {
    const value = this.#document[field];
    const found = allowed.find((each) => each === value);
    if (found !== undefined || typeof value !== 'string') return found;
    const names = allowed.map((each) => JSON.stringify(each)).join(' or ');
    return this.report(field, `expected ${names}, got ${JSON.stringify(value)}${didYouMean(value, allowed)}`);
  }

  texts(field: string): readonly string[] | undefined {
    const value = this.#document[field];
    return Array.isArray(value) ? value.filter((each): each is string => typeof each === 'string') : undefined;
  }

  path(field: string): string | undefined {
    return this.#resolve(field, this.#document[field]);
  }

  paths(field: string): readonly string[] | undefined {
    const texts = this.texts(field);
    return texts?.flatMap((text, index) => this.#resolve(`${field}[${index}]`, text) ?? []);
  }

  #resolve(field: string, value: JsonValue | undefined): string | undefined {
    if (typeof value !== 'string') return undefined;
    return value === '' ? this.report(field, 'must not be empty') : resolve(this.#folder, value);
  }
}

/** Drops absent fields, so that a spread of the result overrides nothing. */
function withoutUndefined<T extends object>(fields: T): { [K in keyof T]?: Exclude<T[K], undefined> } {
  const present = Object.entries(fields).filter(([, value]) => value !== undefined);
  return Object.fromEntries(present) as { [K in keyof T]?: Exclude<T[K], undefined> }; // a subset of the entries of T
}
