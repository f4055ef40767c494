import { dirname, resolve } from 'node:path/posix';
import { errorText } from '../../base/error-text.ts';
import type { FileSystem } from '../../host/file-system.ts';
import { DEFAULT_HANDLER, type HandlerSettings } from '../../runtime/settings/runtime-settings.ts';
import { didYouMean } from '../config/closest-name.ts';
import type { ConfigDiagnostic } from '../config/config-diagnostic.ts';
import { parseConfigDocument } from '../config/parse-config-document.ts';
import { DEFAULT_RUNTIME_CONFIG } from '../embedded/embedded-settings.ts';
import { decodeRuntimeConfig } from './decode-runtime-config.ts';
import { RUNTIME_CONFIGURATION } from './runtime-config-schema.ts';
import {
  type FileConfiguration,
  type FlaggedFields,
  handlerField,
  type RuntimeConfiguration,
  type RuntimeFlags,
} from './runtime-configuration.ts';

export interface LoadRuntimeDeps {
  readonly fs: Pick<FileSystem, 'readText' | 'stat'>;
  readonly cgroupVersion: 'v1' | 'v2';
}

export interface LoadedRuntimeConfig {
  /** If there are diagnostics, the configuration must not be used. */
  readonly config: RuntimeConfiguration;
  /** All of them are errors. */
  readonly diagnostics: readonly ConfigDiagnostic[];
}

const NO_FILE: FileConfiguration = { handlers: new Map() };

/** Reads the file of `--config`, overrides it with the given flags, and checks the handlers on this machine. */
export async function loadRuntimeConfig(
  flags: RuntimeFlags,
  deps: LoadRuntimeDeps,
  signal: AbortSignal,
): Promise<LoadedRuntimeConfig> {
  const file = flags.config === undefined ? undefined : resolve(flags.config);
  const read = file === undefined ? { config: NO_FILE, diagnostics: [] } : await readFile(file, deps.fs, signal);
  const handlers = mergeHandlers(read.config.handlers, flags.programs);
  const inFile = file === undefined ? {} : { file };
  const merged = [
    ...defaultHandlerErrors(read.config, handlers, inFile),
    ...cgroupErrors(read.config, deps.cgroupVersion, inFile),
    ...(await programErrors(read.config, flags, deps.fs, inFile)),
  ];
  return {
    config: mergeConfig(flags, read.config, handlers),
    diagnostics: [...read.diagnostics, ...merged],
  };
}

async function readFile(file: string, fs: LoadRuntimeDeps['fs'], signal: AbortSignal) {
  const diagnostics: ConfigDiagnostic[] = [];
  const report = (path: string, message: string): void =>
    void diagnostics.push({ severity: 'error', file, path, message });
  try {
    const parsed = parseConfigDocument(await fs.readText(file, signal), file, RUNTIME_CONFIGURATION);
    diagnostics.push(...parsed.diagnostics);
    return { config: decodeRuntimeConfig(parsed.config, dirname(file), report), diagnostics };
  } catch (error) {
    signal.throwIfAborted();
    const message = `cannot read runtime config file: ${errorText(error)}`;
    return { config: NO_FILE, diagnostics: [...diagnostics, { severity: 'error', file, message } as const] };
  }
}

/** A flag replaces the program of a handler; its other settings stay. */
function mergeHandlers(
  handlers: FileConfiguration['handlers'],
  programs: RuntimeFlags['programs'],
): ReadonlyMap<string, HandlerSettings> {
  const overridden = [...programs].map(
    ([name, program]) => [name, { ...(handlers.get(name) ?? DEFAULT_HANDLER), program }] as const,
  );
  return new Map([...handlers, ...overridden]);
}

function mergeConfig(
  { config: _, given, programs: __, ...flagged }: RuntimeFlags,
  { defaultRuntimeHandler, ...file }: FileConfiguration,
  named: ReadonlyMap<string, HandlerSettings>,
): RuntimeConfiguration {
  const overriding = Object.entries(flagged).filter(([field]) => given.has(field));
  const ofDefault = defaultRuntimeHandler === undefined ? undefined : named.get(defaultRuntimeHandler);
  const handlers = ofDefault === undefined ? named : new Map([['', ofDefault], ...named]);
  const { cniMaxConfNum } = DEFAULT_RUNTIME_CONFIG;
  const fields: Partial<FlaggedFields> = Object.fromEntries(overriding);
  return { cniMaxConfNum, ...flagged, ...file, ...fields, handlers };
}

type Place = Pick<ConfigDiagnostic, 'file'>;

function defaultHandlerErrors(
  { defaultRuntimeHandler: name }: FileConfiguration,
  handlers: ReadonlyMap<string, HandlerSettings>,
  place: Place,
): ConfigDiagnostic[] {
  if (name === undefined || handlers.has(name)) return [];
  const message = `no runtime handler ${JSON.stringify(name)} is configured${didYouMean(name, handlers.keys())}`;
  return [{ severity: 'error', ...place, path: 'defaultRuntimeHandler', message }];
}

function cgroupErrors(
  { handlers }: FileConfiguration,
  version: LoadRuntimeDeps['cgroupVersion'],
  place: Place,
): ConfigDiagnostic[] {
  const writable = [...handlers].filter(([, { cgroupWritable }]) => cgroupWritable && version !== 'v2');
  return writable.map(([name]) => {
    const path = handlerField(name, 'cgroupWritable');
    return { severity: 'error', ...place, path, message: 'is only supported on cgroup v2' };
  });
}

/** A flag overrides a program of the file, which is then not looked for. */
async function programErrors(
  { handlers }: FileConfiguration,
  { programs }: RuntimeFlags,
  fs: LoadRuntimeDeps['fs'],
  place: Place,
): Promise<ConfigDiagnostic[]> {
  const ofFile = [...handlers].filter(([name]) => !programs.has(name));
  const found = await Promise.all([
    ...ofFile.map(async ([name, { program }]): Promise<ConfigDiagnostic[]> => {
      const message = program && (await programError(program, fs));
      return message ? [{ severity: 'error', ...place, path: handlerField(name, 'runtimePath'), message }] : [];
    }),
    ...[...programs].map(async ([name, program]): Promise<ConfigDiagnostic[]> => {
      const message = await programError(program, fs);
      return message ? [{ severity: 'error', path: '--runtime-handler', message: `${name}: ${message}` }] : [];
    }),
  ]);
  return found.flat();
}

const EXECUTABLE = 0o111;

async function programError(program: string, fs: LoadRuntimeDeps['fs']): Promise<string | undefined> {
  const stat = await fs.stat(program);
  if (stat === undefined) return `${program}: no such file or directory`;
  if (stat.kind !== 'file' || (stat.mode & EXECUTABLE) === 0) return `${program} is not executable`;
  return undefined;
}
