import { dirname, resolve } from 'node:path/posix';
import { errorText } from '../../base/error-text.ts';
import type { FileSystem } from '../../host/file-system.ts';
import type { HandlerSettings } from '../../runtime/settings/runtime-settings.ts';
import { didYouMean } from '../config/closest-name.ts';
import { type ConfigDiagnostic, errorAt } from '../config/config-diagnostic.ts';
import { parseConfigDocument } from '../config/parse-config-document.ts';
import { DEFAULT_RUNTIME_CONFIG } from '../embedded/embedded-settings.ts';
import { decodeRuntimeConfig } from './decode-runtime-config.ts';
import { type HandlerMachine, resolveHandlers } from './resolve-handlers.ts';
import { RUNTIME_CONFIGURATION } from './runtime-config-schema.ts';
import type { FileConfiguration, FlaggedFields, RuntimeConfiguration, RuntimeFlags } from './runtime-configuration.ts';

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
  machine: HandlerMachine,
  signal: AbortSignal,
): Promise<LoadedRuntimeConfig> {
  const file = flags.config === undefined ? undefined : resolve(flags.config);
  const read = file === undefined ? { config: NO_FILE, diagnostics: [] } : await readFile(file, machine.fs, signal);
  const { handlers, errors } = await resolveHandlers(read.config, flags.programs, machine);
  const inFile = file === undefined ? {} : { file };
  return {
    config: mergeConfig(flags, read.config, handlers),
    diagnostics: [
      ...read.diagnostics,
      ...defaultHandlerErrors(read.config, handlers).map((error) => ({ ...error, ...inFile })),
      ...errors.map(({ path, message, isOfFlag }) => ({ ...errorAt(path, message), ...(isOfFlag ? {} : inFile) })),
    ],
  };
}

async function readFile(file: string, fs: Pick<FileSystem, 'readText'>, signal: AbortSignal) {
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

function mergeConfig(
  { config: _, given, programs: __, ...flagged }: RuntimeFlags,
  { defaultRuntimeHandler, ...file }: FileConfiguration,
  named: ReadonlyMap<string, HandlerSettings>,
): RuntimeConfiguration {
  const overriding = Object.entries(flagged).filter(([field]) => given.has(field));
  const fields: Partial<FlaggedFields> = Object.fromEntries(overriding);
  const ofDefault = defaultRuntimeHandler === undefined ? undefined : named.get(defaultRuntimeHandler);
  const handlers = ofDefault === undefined ? named : new Map([['', ofDefault], ...named]);
  const { cniMaxConfNum } = DEFAULT_RUNTIME_CONFIG;
  return { cniMaxConfNum, ...flagged, ...file, ...fields, handlers };
}

function defaultHandlerErrors(
  { defaultRuntimeHandler: name }: FileConfiguration,
  handlers: ReadonlyMap<string, HandlerSettings>,
): ConfigDiagnostic[] {
  if (name === undefined || handlers.has(name)) return [];
  const message = `no runtime handler ${JSON.stringify(name)} is configured${didYouMean(name, handlers.keys())}`;
  return [errorAt('defaultRuntimeHandler', message)];
}
