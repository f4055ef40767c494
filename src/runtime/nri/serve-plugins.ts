import { dirname } from 'node:path';
import { aborted } from '../../base/aborted.ts';
import { errorText } from '../../base/error-text.ts';
import { ExponentialBackoff } from '../../base/exponential-backoff.ts';
import type { Log } from '../../base/log.ts';
import type { Clock } from '../../host/clock.ts';
import type { ConnectedProcess, ConnectedPrograms } from '../../host/connected-programs.ts';
import type { FileSystem } from '../../host/file-system.ts';
import type { ByteStream, Network, StreamServer } from '../../host/network.ts';
import type { Random } from '../../host/random.ts';
import type { NriSettings } from '../settings/runtime-settings.ts';
import { Empty, type UpdateContainersRequest, type UpdateContainersResponse } from './generated/nri-v1alpha1.ts';
import { NriSocketError } from './nri.ts';
import type { NriPlugin } from './nri-plugin.ts';
import { findPluginPrograms, type PluginProgram } from './plugin-programs.ts';
import { type RegisterDeps, type RuntimeIdentity, registerPlugin } from './register-plugin.ts';

export interface ServeDeps {
  readonly settings: NriSettings;
  /** Sent to plugins. */
  readonly identity: RuntimeIdentity;
  readonly clock: Clock;
  readonly random: Random;
  readonly fs: FileSystem;
  readonly network: Network;
  readonly connectedPrograms: ConnectedPrograms;
  readonly log: Log;
  readonly onListening: () => void;
}

/** Admits plugins. */
export interface PluginHost {
  readonly plugins: readonly NriPlugin[];
  admit(start: () => Promise<readonly NriPlugin[]>, signal: AbortSignal): Promise<void>;
  updateContainers(request: UpdateContainersRequest): Promise<UpdateContainersResponse>;
}

/** A started program and its plugin. */
interface Launched {
  readonly process: ConnectedProcess;
  readonly plugin: NriPlugin;
}

/** The programs of the directory; without a value: not running. */
type LaunchedPrograms = Map<PluginProgram, Launched | undefined>;

const SHUTDOWN_TIMEOUT_MS = 1000;
const RESTART_BACKOFF = { firstMs: 1000, maxMs: 60_000, jitter: 0.1 };

/** Starts the plugins of the directory and accepts connections until the signal aborts; then shuts all plugins down. */
export async function servePlugins(deps: ServeDeps, host: PluginHost, signal: AbortSignal): Promise<void> {
  const launched: LaunchedPrograms = new Map();
  const servers: StreamServer[] = [];
  const ended = new AbortController(); // the parallel tasks end together
  const until = AbortSignal.any([signal, ended.signal]);
  const start = async (): Promise<readonly NriPlugin[]> => {
    servers.push(await listen(deps, (stream) => void accept(stream, deps, host, until)));
    deps.onListening();
    return launchAll(launched, deps, host, until);
  };
  try {
    await host.admit(start, until);
    const supervised = [...launched.keys()].map((program) => supervise(program, launched, deps, host, until));
    await Promise.all([aborted(until), ...supervised]);
  } catch (error) {
    if (!signal.aborted) throw error;
  } finally {
    ended.abort();
    await shutDownPlugins(host.plugins, deps.clock);
    for (const server of servers) await server.close();
    await Promise.all([...launched.values()].map((each) => each && end(each)));
  }
}

async function listen(
  { fs, network, settings }: ServeDeps,
  accept: (stream: ByteStream) => void,
): Promise<StreamServer> {
  const { socketPath } = settings;
  try {
    await fs.makeDirectory(dirname(socketPath), 0o700);
    return await network.serveStream({ socketPath, mode: 0o600 }, accept);
  } catch (error) {
    throw new NriSocketError(`cannot serve NRI at ${socketPath}: ${errorText(error)}`, { cause: error });
  }
}

function registerDeps(deps: ServeDeps, host: PluginHost): RegisterDeps {
  return {
    ...deps,
    requestTimeoutMs: deps.settings.requestTimeoutMs,
    updateContainers: (_plugin, request) => host.updateContainers(request),
  };
}

async function accept(stream: ByteStream, deps: ServeDeps, host: PluginHost, signal: AbortSignal): Promise<void> {
  try {
    signal.throwIfAborted();
    const plugin = await registerPlugin(stream, undefined, registerDeps(deps, host), signal);
    await host.admit(async () => [plugin], signal);
  } catch (error) {
    stream.close();
    if (!signal.aborted) deps.log.warn('NRI plugin did not join', { error });
  }
}

/** In parallel; plugins that did not start are retried later. */
async function launchAll(
  launched: LaunchedPrograms,
  deps: ServeDeps,
  host: PluginHost,
  signal: AbortSignal,
): Promise<readonly NriPlugin[]> {
  const programs = await findPluginPrograms(deps.fs, deps.settings, deps.log);
  const results = await Promise.all(programs.map((program) => launch(program, deps, host, signal)));
  for (const [index, program] of programs.entries()) launched.set(program, results[index]);
  return results.flatMap((result) => (result ? [result.plugin] : []));
}

async function launch(
  program: PluginProgram,
  deps: ServeDeps,
  host: PluginHost,
  signal: AbortSignal,
): Promise<Launched | undefined> {
  let process: ConnectedProcess | undefined;
  try {
    const { index, base } = program.id;
    const env = { NRI_PLUGIN_NAME: base, NRI_PLUGIN_IDX: index, NRI_PLUGIN_SOCKET: '3' };
    process = await deps.connectedPrograms.start({ program: program.program, args: [], env });
    return { process, plugin: await registerPlugin(process.stream, program, registerDeps(deps, host), signal) };
  } catch (error) {
    process?.kill();
    if (!signal.aborted) deps.log.warn('NRI plugin did not start', { program: program.program, error });
    return undefined;
  }
}

/** Restarts a program that exited or whose plugin was disconnected, until the signal aborts. */
async function supervise(
  program: PluginProgram,
  launched: LaunchedPrograms,
  deps: ServeDeps,
  host: PluginHost,
  signal: AbortSignal,
): Promise<void> {
  const { clock, random, log } = deps;
  const pause = new ExponentialBackoff(RESTART_BACKOFF);
  for (;;) {
    const current = launched.get(program);
    if (current) {
      const since = clock.monotonic();
      await Promise.race([current.plugin.closed, aborted(signal)]);
      if (signal.aborted) return;
      const exitCode = await end(current);
      launched.delete(program);
      log.warn('NRI plugin ended', { program: program.program, exitCode });
      if (clock.monotonic() - since > RESTART_BACKOFF.maxMs) pause.reset();
    }
    await clock.sleep(pause.next(random.fraction()), signal).catch(() => {});
    if (signal.aborted) return;
    const again = await launch(program, deps, host, signal);
    launched.set(program, again);
    if (again) await host.admit(async () => [again.plugin], signal).catch(() => {});
  }
}

async function end({ process }: Launched): Promise<number> {
  process.kill();
  return (await process.exited).exitCode;
}

/** Each plugin gets a moment to clean up. */
async function shutDownPlugins(plugins: readonly NriPlugin[], clock: Clock): Promise<void> {
  const moment = clock.deadline(SHUTDOWN_TIMEOUT_MS);
  await Promise.allSettled(plugins.map((plugin) => plugin.call('shutdown', Empty.create(), moment)));
  for (const plugin of plugins) plugin.close('the runtime ends');
}
