import { errorText } from '../../base/error-text.ts';
import { traceWork } from '../../base/trace-work.ts';
import type { Clock } from '../../host/clock.ts';
import { type CommandResult, type Processes, ProcessStartError } from '../../host/processes.ts';
import type { PluginCall } from './attachment.ts';
import { type BuiltInDeps, builtInPlugin } from './built-in-plugins.ts';
import { type JsonObject, parseJsonObject } from './json-object.ts';

export interface PluginDeps {
  readonly processes: Pick<Processes, 'run'>;
  readonly fs: BuiltInDeps['fs'];
  readonly clock: Clock;
  readonly binDirs: readonly string[];
  /** The environment of plugins, which search iptables and other programs in `PATH`. */
  readonly environment: Readonly<Record<string, string>>;
}

/** A plugin failed. The message names network, plugin and command in libcni's format. */
export class PluginError extends Error {
  override readonly name = 'PluginError';
  /** CNI's error code, if the plugin returned one. */
  readonly code: number | undefined;

  constructor({ plugin, network, command }: PluginCall, text: string, code?: number, options?: ErrorOptions) {
    const verb = command === 'DEL' ? 'delete' : command.toLowerCase();
    super(`plugin type=${quoted(plugin.type)} name=${quoted(network.name)} failed (${verb}): ${text}`, options);
    this.code = code;
  }
}

const MAX_OUTPUT_BYTES = 4 * 1024 * 1024;
const MAX_BUSY_ATTEMPTS = 5;
const BUSY_PAUSE_MS = 200;
const GRACE_MS = 10_000;

/** Returns the plugin's standard output; rejects with `PluginError`, or with the signal's reason. */
export function runPlugin(call: PluginCall, deps: PluginDeps, signal: AbortSignal): Promise<string> {
  return traceWork(
    () => ({ name: `cni.${call.plugin.type}.${call.command}`, facts: { 'cni.network': call.network.name } }),
    () => callPlugin(call, deps, signal),
  );
}

async function callPlugin(call: PluginCall, deps: PluginDeps, signal: AbortSignal): Promise<string> {
  const builtIn = builtInPlugin(call.plugin.type);
  if (builtIn) {
    return builtIn(call, deps, signal).catch((error: unknown) => Promise.reject(failureOf(call, error, signal)));
  }
  const { exitCode, stdout, stderr } = await start(call, deps, signal);
  const decoder = new TextDecoder();
  const output = decoder.decode(stdout);
  if (exitCode === 0) return output;
  const { text, code } = parseFailure(output, decoder.decode(stderr), exitCode);
  throw new PluginError(call, text, code);
}

/** Runs a plugin for ADD and returns its result. */
export async function runAdd(call: PluginCall, deps: PluginDeps, signal: AbortSignal): Promise<JsonObject> {
  const output = await runPlugin(call, deps, signal);
  const result = parseJsonObject(output);
  if (!result) throw new PluginError(call, `result is not a JSON object: ${quoted(output)}`);
  return result;
}

/** Uses the first directory that has the plugin. Starting it directly saves a stat. */
async function start(call: PluginCall, deps: PluginDeps, signal: AbortSignal): Promise<CommandResult> {
  const { type } = call.plugin;
  signal.throwIfAborted();
  for (const folder of deps.binDirs) {
    try {
      return await startUnlessBusy(`${folder}/${type}`, call, deps, signal);
    } catch (error) {
      if (!(error instanceof ProcessStartError)) throw failureOf(call, error, signal);
      if (error.code !== 'ENOENT') throw new PluginError(call, error.message, undefined, { cause: error });
    }
  }
  throw new PluginError(call, `failed to find plugin ${quoted(type)} in path [${deps.binDirs.join(' ')}]`);
}

/** A plugin that is being installed cannot be started while its file is open for writing (ETXTBSY). */
async function startUnlessBusy(
  program: string,
  call: PluginCall,
  { processes, clock, binDirs, environment }: PluginDeps,
  signal: AbortSignal,
): Promise<CommandResult> {
  const command = {
    program,
    args: [],
    env: { ...environment, ...call.env, CNI_COMMAND: call.command, CNI_PATH: binDirs.join(':') },
    input: encodeInput(call),
    maxOutputBytes: MAX_OUTPUT_BYTES,
  };
  for (let attempt = 1; ; attempt++) {
    const grace = withGrace(signal, clock);
    try {
      const finished = await processes.run(command, grace.signal);
      signal.throwIfAborted();
      return finished;
    } catch (error) {
      const isBusy = error instanceof ProcessStartError && error.code === 'ETXTBSY';
      if (!isBusy || attempt === MAX_BUSY_ATTEMPTS) throw error;
      await clock.sleep(BUSY_PAUSE_MS, signal);
    } finally {
      grace.over();
    }
  }
}

/**
 * A plugin may finish after its caller was aborted: host-local, killed between creating an address file and writing its
 * owner into it, leaks an address that no DEL finds. Only a plugin that hangs is killed.
 */
function withGrace(signal: AbortSignal, clock: Clock): { readonly signal: AbortSignal; over(): void } {
  const kill = new AbortController();
  const over = new AbortController();
  const onAbort = (): void => {
    clock.sleep(GRACE_MS, over.signal).then(
      () => kill.abort(signal.reason),
      () => {}, // the plugin has ended by itself
    );
  };
  signal.addEventListener('abort', onAbort, { once: true, signal: over.signal });
  if (signal.aborted) onAbort();
  return { signal: kill.signal, over: () => over.abort(ENDED) };
}

/** Shared, because no caller receives it. */
const ENDED = new Error('the plugin has ended');

function encodeInput({ plugin, network: { name, cniVersion }, input }: PluginCall): string {
  return JSON.stringify({ ...plugin, name, cniVersion, ...input });
}

/** Returns the plugin's own error object, else its output. */
function parseFailure(
  stdout: string,
  stderr: string,
  exitCode: number,
): { readonly text: string; readonly code?: number } {
  const reported = parseJsonObject(stdout);
  if (reported && typeof reported.msg === 'string') {
    const details = typeof reported.details === 'string' && reported.details !== '' ? `; ${reported.details}` : '';
    return { text: `${reported.msg}${details}`, ...(typeof reported.code === 'number' ? { code: reported.code } : {}) };
  }
  const written = [stdout, stderr].map((text) => text.trim()).filter((text) => text !== '');
  if (written.length > 0) return { text: `netplugin failed: ${quoted(written.join('\n'))}` };
  return { text: `netplugin failed with no error message: exit status ${exitCode}` };
}

function failureOf(call: PluginCall, error: unknown, signal: AbortSignal): unknown {
  // A time-out names the plugin; the reason is the cause.
  return new PluginError(call, signal.aborted ? `aborted: ${errorText(error)}` : errorText(error), undefined, {
    cause: error,
  });
}

function quoted(text: string): string {
  return JSON.stringify(text);
}
