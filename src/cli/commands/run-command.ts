import type { Agent } from '../../app/agent.ts';
import { type AgentFactory, type LocalAgent, startLocalAgent } from '../../app/start-local-agent.ts';
import { aborted } from '../../base/aborted.ts';
import { errorText } from '../../base/error-text.ts';
import type { Log } from '../../base/log.ts';
import type { UnhandledErrors } from '../../base/unhandled-errors.ts';
import type { PodReport } from '../../kubelet/explain/agent-view.ts';
import { manifestName } from '../../kubelet/pod/manifest-name.ts';
import { createFileSource } from '../../kubelet/sources/file-source.ts';
import type { PodSource, SourceSnapshot } from '../../kubelet/sources/pod-source.ts';
import { EXIT } from '../options/command-error.ts';
import { withoutShownErrors } from '../output/filtered-log.ts';
import { isSettled, podOutcome } from '../output/pod-outcome.ts';
import { podRow } from '../output/pod-row.ts';
import { RunScreen } from '../output/run-screen.ts';
import { agentLog } from './agent-log.ts';
import { firstDesiredPods, manifestPaths } from './check-manifests.ts';
import type { CommandContext } from './command-context.ts';
import { findMissingFolders, removeEmptyFolders } from './made-folders.ts';
import { ServiceReport } from './report-service.ts';
import { requireRootOnLinux } from './require-root.ts';
import type { RunOptions } from './run.ts';
import { Shutdown } from './shutdown.ts';
import { overdueText, type ShutdownOverdue, whenOverdue } from './shutdown-deadline.ts';
import { longestGrace, stopPods, waitForEmptyRuntime } from './stop-pods.ts';
import { createUnhandledErrors, surviveErrors } from './survive-errors.ts';
import { waitForPods } from './wait-for-pods.ts';

/** The interval of rescans of the manifests, the safety net of inotify: kubelet's `fileCheckFrequency`. */
const RESCAN_MS = 20_000;

/** How long the end may take beyond the grace periods of the pods, and once they are to be killed at once. */
const END_MS = 30_000;
const KILL_MS = 5_000;
/** How long the last lines may take when nothing else is waited for. */
const LAST_LINES_MS = 500;

/** Chooses the runtime and the agent behind `nodelet run`. */
export type WireAgent = (
  options: RunOptions,
  source: PodSource,
  process: CommandContext & { readonly unhandled: UnhandledErrors },
  log: Log,
) => AgentFactory;

interface Run {
  readonly options: RunOptions;
  readonly context: CommandContext;
  readonly wanted: SourceSnapshot;
  readonly screen: RunScreen;
  readonly log: Log;
  readonly ending: Shutdown;
  /** Folders that were not there before: what is empty of them at the end is removed. */
  readonly made: readonly string[];
  /** The agent, once it is built. */
  agent?: Agent;
}

/** `nodelet run`: from manifests to pods, until the user, the socket or `--once` ends it. */
export async function runCommand(options: RunOptions, context: CommandContext, wire: WireAgent): Promise<number> {
  const { terminal, machine } = context;
  const { fs, clock } = context.host;
  const nodeName = machine.hostname.toLowerCase();
  const paths = await manifestPaths(options.paths, fs);
  const source = createFileSource({ paths, nodeName, rescanMs: RESCAN_MS, references: 'manifests' }, { fs, clock });
  const wanted = await firstDesiredPods(source);
  const nameWidth = Math.max(0, ...wanted.pods.map((pod) => manifestName(pod, nodeName).length));
  const ending = new Shutdown();
  const closed = (): void => void ending.request();
  const screen = new RunScreen({
    terminal,
    clock,
    fs,
    nodeName,
    nameWidth,
    followLogs: !options.once,
    onClosed: closed,
  });
  for (const { location, message } of wanted.errors) screen.manifestError(location, message);
  if (wanted.pods.length === 0 && !options.allowEmpty) {
    if (wanted.errors.length === 0) screen.line(`nodelet run: no pods in ${options.paths.join(', ')}`);
    await screen.flush();
    return EXIT.badInput;
  }
  requireRootOnLinux(context);
  const made = await findMissingFolders([options.rootDir, options.stateDir], fs);
  const whole = agentLog(context, options.verbosity, 'human'); // among the progress
  const log = options.verbosity > 0 ? whole : withoutShownErrors(whole, (pod, error) => screen.isNewError(pod, error));
  const run: Run = { options, context, wanted, screen, log, ending, made };
  const unhandled = createUnhandledErrors(context, log);
  const over = new AbortController();
  const unsubscribe = context.onInterrupt(() => ending.interrupt());
  try {
    const wiring = wire(options, source, { ...context, unhandled }, log);
    return await Promise.race([runPods(run, wiring, unhandled), abandonment(run, over.signal)]);
  } finally {
    over.abort();
    unsubscribe();
  }
}

async function runPods(run: Run, wiring: AgentFactory, unhandled: UnhandledErrors): Promise<number> {
  const { ending, screen, context, log } = run;
  using service = new ServiceReport({ ...context.host, log }, ending.requested);
  const local = await start(run, wiring);
  if (local === undefined) return EXIT.failed;
  surviveErrors(context, unhandled);
  service.ready(`node ${local.agent.nodeName}`, () => local.agent.syncLoopUnhealthyReason());
  const failure = local.finished.then(
    () => new Error('its work ended by itself'),
    (error: unknown) => error,
  );
  const exitCode = await Promise.race([
    aborted(ending.requested).then(() => EXIT.ok),
    ...(run.options.once ? [onceSettled(run, local)] : []),
    failure.then(() => undefined),
  ]);
  void ending.request(); // from here on it may not take for ever
  if (exitCode === undefined) {
    await local.stop().catch(() => {}); // says again why the work ended
    ending.notifyPodsGone();
    screen.line(
      `nodelet run: the agent failed: ${errorText(await failure)}; the next 'nodelet run' takes its pods over`,
    );
    await screen.flush();
    return EXIT.failed;
  }
  return end(run, local, exitCode);
}

/** `undefined` when the user ended it before it had started. */
async function start(run: Run, wiring: AgentFactory): Promise<LocalAgent | undefined> {
  const { options, context, screen, ending } = run;
  const { version, pid, host } = context;
  const began = host.clock.monotonic();
  try {
    return await startLocalAgent(
      {
        stateDir: options.stateDir,
        identity: { version, pid },
        fs: host.fs,
        network: host.network,
        clock: host.clock,
        shutdown: (graceSeconds) => ending.request(graceSeconds),
        onBuilt: (agent) => {
          screen.runtimeReady(host.clock.monotonic() - began);
          screen.attach(agent);
          run.agent = agent;
        },
      },
      wiring,
      ending.requested,
    );
  } catch (error) {
    await removeEmptyFolders(run.made, host.fs);
    if (!ending.requested.aborted) throw error;
    ending.notifyPodsGone();
    screen.line('stopped before the pods were started');
    await screen.flush();
    return undefined;
  }
}

async function onceSettled({ options, context, wanted, screen, ending }: Run, { agent }: LocalAgent): Promise<number> {
  const { clock } = context.host;
  const uids = wanted.pods.map(({ metadata }) => metadata.uid);
  const settled = await waitForPods({ view: agent, clock, uids, timeoutMs: options.timeoutMs }, ending.requested);
  await screen.printLogs();
  if (ending.requested.aborted) return EXIT.failed;
  const late = agent.pods().filter(({ pod, status }) => !isSettled(pod, status));
  const states = late.map((report) => lateText(report, agent.nodeName)).join(', ');
  if (!settled) screen.line(`nodelet run: not ready after ${options.timeoutMs / 1000} s: ${states}`);
  const anyFailed = agent.pods().some(({ status }) => podOutcome(status) === 'failed');
  const anyRefused = wanted.errors.length > 0 || agent.manifests().some(({ errors }) => errors.length > 0);
  return settled && !anyFailed && !anyRefused ? EXIT.ok : EXIT.failed;
}

/** `hello (ErrImagePull)` */
function lateText({ pod, status }: PodReport, nodeName: string): string {
  return `${manifestName(pod, nodeName)} (${podRow({ ...pod, status }, 0, false).status})`;
}

async function end({ context, ending, screen, made }: Run, local: LocalAgent, exitCode: number): Promise<number> {
  try {
    await stopPods(local.agent, ending, (line) => screen.line(line));
    await waitForEmptyRuntime(local, context.host.clock, ending.urgent);
    ending.notifyPodsGone();
    await screen.finishLogs();
    const isClean = await local.stop();
    await removeEmptyFolders(made, context.host.fs);
    screen.line(isClean ? 'nothing left behind' : "something is left behind; the next 'nodelet run' removes it");
    await screen.flush();
    return isClean ? exitCode : EXIT.failed;
  } catch (error) {
    screen.line(`nodelet run: cannot stop everything: ${errorText(error)}`);
    await screen.flush();
    return EXIT.failed;
  }
}

/** Resolves when the process has to end, whatever of it hangs. */
async function abandonment(run: Run, signal: AbortSignal): Promise<number> {
  const { ending, screen, context } = run;
  const { clock } = context.host;
  const graceSeconds = (): number => ending.graceSeconds ?? (run.agent === undefined ? 0 : longestGrace(run.agent));
  const limits = { afterRequestedMs: () => graceSeconds() * 1000 + END_MS, afterUrgentMs: KILL_MS };
  const why = await whenOverdue(ending, clock, limits, signal);
  screen.line(`nodelet run: ${abandonmentText(why, run)}`);
  await Promise.race([screen.flush(), clock.sleep(LAST_LINES_MS, signal)]);
  return EXIT.failed;
}

function abandonmentText(why: ShutdownOverdue, { agent, context }: Run): string {
  if (why.kind === 'abandoned') return "given up; the next 'nodelet run' takes over what is left";
  const nodeName = context.machine.hostname.toLowerCase();
  const left = (agent?.pods() ?? []).filter(({ worker }) => worker !== 'finished');
  const pods = left.map(({ pod }) => manifestName(pod, nodeName)).join(', ');
  return `${overdueText(why)}${pods === '' ? '' : `: ${pods}`}`;
}
