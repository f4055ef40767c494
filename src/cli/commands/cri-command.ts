import { dirname } from 'node:path/posix';
import { formatDiagnostic } from '../../app/config/config-diagnostic.ts';
import { environmentTracing } from '../../app/config/trace-environment.ts';
import { runtimeTracing } from '../../app/config/tracing-settings.ts';
import { startEmbedded } from '../../app/embedded/start-embedded.ts';
import { loadRuntimeConfig } from '../../app/runtime-config/load-runtime-config.ts';
import type { RuntimeConfiguration } from '../../app/runtime-config/runtime-configuration.ts';
import { serveRuntimeMetrics } from '../../app/serve-runtime-metrics.ts';
import { aborted } from '../../base/aborted.ts';
import type { Log } from '../../base/log.ts';
import { parseEndpoint } from '../../cri/endpoint.ts';
import { instrument } from '../../cri/instrument.ts';
import { serveCri } from '../../cri/server.ts';
import type { Host } from '../../host/host.ts';
import { NetworkError } from '../../host/network.ts';
import { startTracing } from '../../observability/tracing/start-tracing.ts';
import { RuntimeMetrics } from '../../runtime/metrics/runtime-metrics.ts';
import { CommandError, EXIT } from '../options/command-error.ts';
import { agentLog } from './agent-log.ts';
import type { CommandContext } from './command-context.ts';
import type { CriOptions } from './cri.ts';
import { ServiceReport } from './report-service.ts';
import { requireRootOnLinux } from './require-root.ts';
import { Shutdown } from './shutdown.ts';
import { untilOverdue } from './shutdown-deadline.ts';
import { createUnhandledErrors, surviveErrors } from './survive-errors.ts';

/** What the log says without being asked for more: that it serves, and what went wrong. */
const DEFAULT_VERBOSITY = 2;

/** `nodelet cri`: the embedded runtime on a socket; ends on SIGTERM and leaves the containers running. */
export async function criCommand(options: CriOptions, context: CommandContext): Promise<number> {
  const ending = new Shutdown();
  requireRootOnLinux(context);
  const config = await loadConfig(options, context, ending.requested);
  const log = agentLog(context, config.verbosity || DEFAULT_VERBOSITY);
  const unsubscribe = context.onInterrupt(() => ending.interrupt());
  try {
    const exitCode = await untilOverdue(
      serve(config, context, log, ending.requested),
      ending,
      context.host.clock,
      log.error,
    );
    return exitCode ?? EXIT.failed;
  } catch (error) {
    if (ending.requested.aborted) return EXIT.ok;
    throw error;
  } finally {
    unsubscribe();
  }
}

/** Rejects with a `CommandError` that has a line for each error. */
async function loadConfig(
  options: CriOptions,
  { host }: CommandContext,
  signal: AbortSignal,
): Promise<RuntimeConfiguration> {
  const deps = { fs: host.fs, cgroupVersion: host.cgroups.version };
  const { config, diagnostics } = await loadRuntimeConfig(options, deps, signal);
  if (diagnostics.length === 0) return config;
  throw new CommandError(diagnostics.map(formatDiagnostic).join('\n'), EXIT.badInput);
}

async function serve(
  config: RuntimeConfiguration,
  context: CommandContext,
  log: Log,
  signal: AbortSignal,
): Promise<number> {
  const { host, version, pid, env } = context;
  using service = new ServiceReport({ ...host, log }, signal);
  const socketPath = parseEndpoint(config.listen);
  await refuseTakenSocket(host, socketPath);
  const onWaiting = (text: string): void => log.info(text);
  await using _tracing = await startTracing(tracingOf(config, context), { clock: host.clock, log });
  const unhandled = createUnhandledErrors(context, log);
  const { metricsListen } = config;
  const metrics = metricsListen && new RuntimeMetrics(host.clock);
  const parts = { ...config, host, version, pid, env, log, unhandled, metrics, onWaiting, pinnedImages: [] };
  const runtime = await startEmbedded(parts, signal);
  const stopMetrics = new AsyncDisposableStack();
  try {
    if (metrics) stopMetrics.use(await serveRuntimeMetrics(metricsListen, metrics, { ...host, log }));
    await host.fs.makeDirectory(dirname(socketPath), 0o711);
    const server = await serveCri(
      { socketPath, mode: 0o660, ...host, log },
      instrument(runtime.cri, { side: 'server' }),
    );
    log.info('serving CRI', { endpoint: config.listen });
    surviveErrors(context, unhandled);
    // As long as the event loop works, so does the runtime: its parts are restarted.
    service.ready(`serving CRI at ${config.listen}`, () => undefined);
    await aborted(signal);
    log.info('ending; containers are left running');
    await server.close();
  } finally {
    await stopMetrics.disposeAsync();
    await runtime.close();
  }
  return EXIT.ok;
}

/** Of the file, else of the environment. */
function tracingOf({ tracing }: RuntimeConfiguration, { env, version, machine }: CommandContext) {
  const { target, diagnostics } = tracing ? { target: tracing, diagnostics: [] } : environmentTracing(env);
  if (diagnostics.length > 0) throw new CommandError(diagnostics.map(formatDiagnostic).join('\n'), EXIT.badInput);
  return runtimeTracing(target, { version, hostname: machine.hostname }, env);
}

/** A stale socket file is replaced; any other file at its path is not ours to remove. */
async function refuseTakenSocket({ fs, network, clock }: Host, socketPath: string): Promise<void> {
  const kind = (await fs.stat(socketPath))?.kind ?? 'socket';
  if (kind !== 'socket') throw new CommandError(`--listen: ${socketPath} exists and is not a socket`, EXIT.badInput);
  try {
    const connection = await network.dial({ socketPath }, clock.deadline(2_000));
    connection.close();
  } catch (error) {
    if (error instanceof NetworkError) return;
    throw error;
  }
  throw new CommandError(`another runtime serves ${socketPath}`);
}
