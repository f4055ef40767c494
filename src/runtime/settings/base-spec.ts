import { jsonArray, jsonInteger, jsonObject, jsonString } from '../../base/json-values.ts';
import { isCrunAnnotation } from './crun-annotations.ts';

/** The parts of an OCI spec that the containers of a handler start from. The container's own values override them. */
export interface BaseSpec {
  readonly rlimits: readonly BaseRlimit[];
  readonly env: readonly string[];
  readonly annotations: Readonly<Record<string, string>>;
  readonly hooks: BaseHooks | undefined;
}

export interface BaseRlimit {
  /** `RLIMIT_NOFILE` */
  readonly type: string;
  readonly soft: number;
  readonly hard: number;
}

export type BaseHooks = { readonly [name in (typeof HOOKS)[number]]?: readonly BaseHook[] };

export interface BaseHook {
  readonly path: string;
  readonly args?: readonly string[];
  readonly env?: readonly string[];
  readonly timeout?: number;
}

const HOOKS = ['prestart', 'createRuntime', 'createContainer', 'startContainer', 'poststart', 'poststop'] as const;
const HOOK_FIELDS = ['path', 'args', 'env', 'timeout'];
/** The greatest number below 2^64 that JSON of JavaScript represents; stands for "unlimited". */
const MAX_RLIMIT = 2 ** 64 - 2048;

/**
 * Parses the JSON of an OCI spec. Throws an `Error` that names the field, also for fields that a base spec cannot set:
 * they would silently have no effect.
 */
export function parseBaseSpec(text: string): BaseSpec {
  const spec = fieldsOf(parseJson(text), 'spec', ['ociVersion', 'process', 'annotations', 'hooks']);
  const process = fieldsOf(spec['process'] ?? {}, 'process', ['rlimits', 'env']);
  return {
    rlimits: jsonArray(process['rlimits'], 'process.rlimits').map(parseRlimit),
    env: jsonArray(process['env'], 'process.env').map((value, index) => parseVariable(value, `process.env[${index}]`)),
    annotations: parseAnnotations(spec['annotations'] ?? {}),
    hooks: spec['hooks'] === undefined ? undefined : parseHooks(spec['hooks']),
  };
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    throw new Error('invalid JSON', { cause: error });
  }
}

function fieldsOf(value: unknown, path: string, known: readonly string[]): Readonly<Record<string, unknown>> {
  const object = jsonObject(value, path);
  const unknown = Object.keys(object).find((key) => !known.includes(key));
  if (unknown === undefined) return object;
  const field = path === 'spec' ? unknown : `${path}.${unknown}`;
  throw new Error(`${field}: not supported in a base runtime spec; expected ${known.join(', ')}`);
}

function parseRlimit(value: unknown, index: number): BaseRlimit {
  const field = `process.rlimits[${index}]`;
  const rlimit = fieldsOf(value, field, ['type', 'soft', 'hard']);
  const type = jsonString(rlimit['type'], `${field}.type`);
  if (!/^RLIMIT_[A-Z]+$/.test(type)) throw new Error(`${field}.type: ${JSON.stringify(type)} is no resource limit`);
  const soft = parseLimit(rlimit['soft'], `${field}.soft`);
  const hard = parseLimit(rlimit['hard'], `${field}.hard`);
  if (soft > hard) throw new Error(`${field}.soft: must not be greater than the hard limit`);
  return { type, soft, hard };
}

function parseLimit(value: unknown, field: string): number {
  if (typeof value !== 'number' || !Number.isInteger(value) || value < 0) {
    throw new Error(`${field}: expected a whole number`);
  }
  return Math.min(value, MAX_RLIMIT);
}

function parseVariable(value: unknown, field: string): string {
  const text = jsonString(value, field);
  if (text.indexOf('=') <= 0) throw new Error(`${field}: ${JSON.stringify(text)} is not of the form name=value`);
  return text;
}

function parseAnnotations(value: unknown): Readonly<Record<string, string>> {
  const entries = Object.entries(jsonObject(value, 'annotations')).map(([name, text]) => {
    const field = `annotations[${JSON.stringify(name)}]`;
    if (isCrunAnnotation(name)) throw new Error(`${field}: only the runtime sets annotations of crun`);
    if (typeof text !== 'string') throw new Error(`${field}: expected text`);
    return [name, text] as const;
  });
  return Object.fromEntries(entries);
}

function parseHooks(value: unknown): BaseHooks {
  const hooks = fieldsOf(value, 'hooks', HOOKS);
  const given = HOOKS.filter((name) => hooks[name] !== undefined);
  return Object.fromEntries(
    given.map((name) => {
      const field = `hooks.${name}`;
      return [name, jsonArray(hooks[name], field).map((hook, index) => parseHook(hook, `${field}[${index}]`))];
    }),
  );
}

function parseHook(value: unknown, field: string): BaseHook {
  const hook = fieldsOf(value, field, HOOK_FIELDS);
  const path = jsonString(hook['path'], `${field}.path`);
  if (!path.startsWith('/')) throw new Error(`${field}.path: ${JSON.stringify(path)} is not absolute`);
  const { args, env, timeout } = hook;
  return {
    path,
    ...(args !== undefined && {
      args: jsonArray(args, `${field}.args`).map((arg) => jsonString(arg, `${field}.args`)),
    }),
    ...(env !== undefined && {
      env: jsonArray(env, `${field}.env`).map((each) => parseVariable(each, `${field}.env`)),
    }),
    ...(timeout !== undefined && { timeout: jsonInteger(timeout, `${field}.timeout`) }),
  };
}
