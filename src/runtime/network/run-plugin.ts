import { errorText } from '../../base/error-text.ts';
import type { Clock } from '../../host/clock.ts';
import { type Finished, type Processes, ProcessStartError } from '../../host/processes.ts';
import type { PluginCall } from './attachment.ts';
import { type JsonObject, parseJsonObject } from './json-object.ts';

export interface PluginDeps {
  readonly processes: Pick<Processes, 'run'>;
  readonly clock: Clock;
  readonly binDirs: readonly string[];
  /** What plugins inherit: they look for iptables and the like in `PATH`. */
  readonly environment: Readonly<Record<string, string>>;
}

/** A plugin that did not do what was asked. The message names network, plugin and command, in the words of libcni. */
export class PluginError extends Error {
  override readonly name = 'PluginError';
  /** CNI's number, where the plugin told one. */
  readonly code: number | undefined;

  constructor({ plugin, network, command }: PluginCall, text: string, code?: number, options?: ErrorOptions) {
    const verb = command === 'DEL' ? 'delete' : command.toLowerCase();
    super(`plugin type=${quoted(plugin.type)} name=${quoted(network.name)} failed (${verb}): ${text}`, options);
    this.code = code;
  }
}

const MAX_OUTPUT_BYTES = 4 * 1024 * 1024;
const BUSY_TRIES = 5;
const BUSY_PAUSE_MS = 200;
const GRACE_MS = 10_000;

/** What the plugin wrote to its standard output; rejects with a `PluginError`, or with the signal's reason. */
export async function runPlugin(call: PluginCall, deps: PluginDeps, signal: AbortSignal): Promise<string> {
  const { exitCode, stdout, stderr } = await start(call, deps, signal);
  const decoder = new TextDecoder();
  const output = decoder.decode(stdout);
  if (exitCode === 0) return output;
  const { text, code } = failureOf(output, decoder.decode(stderr), exitCode);
  throw new PluginError(call, text, code);
}

/** ADD: the result that the plugin wrote. */
export async function runForResult(call: PluginCall, deps: PluginDeps, signal: AbortSignal): Promise<JsonObject> {
  const output = await runPlugin(call, deps, signal);
  const result = parseJsonObject(output);
  if (!result) throw new PluginError(call, `its result is no JSON object: ${quoted(output)}`);
  return result;
}

/** The first of the folders that has the plugin: found by starting it, which saves a look. */
async function start(call: PluginCall, deps: PluginDeps, signal: AbortSignal): Promise<Finished> {
  const { type } = call.plugin;
  signal.throwIfAborted();
  for (const folder of deps.binDirs) {
    try {
      return await startUnlessBusy(`${folder}/${type}`, call, deps, signal);
    } catch (error) {
      if (!(error instanceof ProcessStartError)) throw ownFailure(call, error, signal);
      if (error.code !== 'ENOENT') throw new PluginError(call, error.message, undefined, { cause: error });
    }
  }
  throw new PluginError(call, `failed to find plugin ${quoted(type)} in path [${deps.binDirs.join(' ')}]`);
}

/** A plugin that is just being installed cannot be started while somebody writes to its file. */
async function startUnlessBusy(
  program: string,
  call: PluginCall,
  { processes, clock, binDirs, environment }: PluginDeps,
  signal: AbortSignal,
): Promise<Finished> {
  const command = {
    program,
    args: [],
    env: { ...environment, ...call.env, CNI_COMMAND: call.command, CNI_PATH: binDirs.join(':') },
    input: inputOf(call),
    maxOutputBytes: MAX_OUTPUT_BYTES,
  };
  for (let attempt = 1; ; attempt++) {
    const grace = afterGrace(signal, clock);
    try {
      const finished = await processes.run(command, grace.signal);
      signal.throwIfAborted();
      return finished;
    } catch (error) {
      const isBusy = error instanceof ProcessStartError && error.code === 'ETXTBSY';
      if (!isBusy || attempt === BUSY_TRIES) throw error;
      await clock.sleep(BUSY_PAUSE_MS, signal);
    } finally {
      grace.over();
    }
  }
}

/**
 * A plugin whose caller has gone may still come to its end: host-local, killed between making the file of an address and
 * writing its owner into it, leaves an address that no DEL ever finds. Only one that hangs is killed.
 */
function afterGrace(signal: AbortSignal, clock: Clock): { readonly signal: AbortSignal; over(): void } {
  const kill = new AbortController();
  const over = new AbortController();
  const onAbort = (): void => {
    clock.sleep(GRACE_MS, over.signal).then(
      () => kill.abort(signal.reason),
      () => {}, // it has ended by itself
    );
  };
  signal.addEventListener('abort', onAbort, { once: true, signal: over.signal });
  if (signal.aborted) onAbort();
  return { signal: kill.signal, over: () => over.abort(OVER) };
}

/** Made once: it is nobody's failure. */
const OVER = new Error('the plugin has ended');

function inputOf({ plugin, network: { name, cniVersion }, input }: PluginCall): string {
  return JSON.stringify({ ...plugin, name, cniVersion, ...input });
}

/** The plugin's own error object, else whatever it wrote. */
function failureOf(
  stdout: string,
  stderr: string,
  exitCode: number,
): { readonly text: string; readonly code?: number } {
  const told = parseJsonObject(stdout);
  if (told && typeof told.msg === 'string') {
    const details = typeof told.details === 'string' && told.details !== '' ? `; ${told.details}` : '';
    return { text: `${told.msg}${details}`, ...(typeof told.code === 'number' ? { code: told.code } : {}) };
  }
  const written = [stdout, stderr].map((text) => text.trim()).filter((text) => text !== '');
  if (written.length > 0) return { text: `netplugin failed: ${quoted(written.join('\n'))}` };
  return { text: `netplugin failed with no error message: exit status ${exitCode}` };
}

function ownFailure(call: PluginCall, error: unknown, signal: AbortSignal): unknown {
  // A time-out says which plugin took so long; the reason itself is the caller's to recognise.
  return new PluginError(
    call,
    signal.aborted ? `ended before it was done: ${errorText(error)}` : errorText(error),
    undefined,
    {
      cause: error,
    },
  );
}

function quoted(text: string): string {
  return JSON.stringify(text);
}
