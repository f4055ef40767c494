import type { Agent } from '../../app/agent.ts';
import type { AgentProcess } from '../../app/agent-process.ts';
import { endsPodsAtShutdown } from '../../app/agent-settings.ts';
import { KubeconfigError } from '../../app/cluster/kubeconfig-document.ts';
import { formatDiagnostic } from '../../app/config/config-diagnostic.ts';
import { kubeletHelp } from '../../app/config/kubelet-help.ts';
import { type KubeletSettings, loadKubeletConfig } from '../../app/config/load-config.ts';
import { notHonoured } from '../../app/config/not-honoured.ts';
import { standaloneErrors } from '../../app/config/standalone-errors.ts';
import { kubeletTracing } from '../../app/config/tracing-settings.ts';
import { requireOwnFolder } from '../../app/embedded/path-owner.ts';
import { createKubeletAgentFactory } from '../../app/kubelet-agent-factory.ts';
import { logAgentEvents } from '../../app/log-agent-events.ts';
import { findOtherKubelet } from '../../app/other-kubelet.ts';
import { type LocalAgent, startLocalAgent } from '../../app/start-local-agent.ts';
import { aborted } from '../../base/aborted.ts';
import type { Log } from '../../base/log.ts';
import { FolderTakenError } from '../../host/folder-claims.ts';
import type { Host } from '../../host/host.ts';
import { KUBERNETES_VERSION } from '../../kubelet/node/status/kubernetes-version.ts';
import { startTracing } from '../../observability/tracing/start-tracing.ts';
import { CommandError, EXIT } from '../options/command-error.ts';
import type { CommandContext } from './command-context.ts';
import { holdLockFile } from './hold-lock-file.ts';
import { type KubeletLog, kubeletLog } from './kubelet-log.ts';
import { ServiceReport } from './report-service.ts';
import { requireRootOnLinux } from './require-root.ts';
import { Shutdown } from './shutdown.ts';
import { untilOverdue } from './shutdown-deadline.ts';
import { createUnhandledErrors, surviveErrors } from './survive-errors.ts';

const STATE_DIR = '/run/nodelet';

/**
 * `nodelet kubelet`: takes kubelet's flags and files; ends on SIGTERM and leaves the containers running. `nodelet stop --all`
 * ends the pods first, for machines without logind; it needs kubelet's `shutdownGracePeriod`.
 */
export async function kubeletCommand(flags: readonly string[], context: CommandContext): Promise<number> {
  const { terminal, host, machine } = context;
  const ending = new Shutdown();
  const deps = { fs: host.fs, hostname: machine.hostname, cgroupVersion: host.cgroups.version };
  const { settings, diagnostics: loaded } = await loadKubeletConfig(flags, deps, ending.requested);
  if (settings.flags.help || settings.flags.version !== false) {
    await terminal.stdout.write(settings.flags.help ? kubeletHelp() : `Kubernetes ${KUBERNETES_VERSION}\n`);
    return EXIT.ok;
  }
  const diagnostics = [...loaded, ...standaloneErrors(settings), ...notHonoured(settings.config)];
  for (const diagnostic of diagnostics) {
    await terminal.stderr.write(`nodelet kubelet: ${diagnostic.severity}: ${formatDiagnostic(diagnostic)}\n`);
  }
  if (diagnostics.some(({ severity }) => severity === 'error')) return EXIT.badInput;
  requireRootOnLinux(context);
  const logging = kubeletLog(context, settings);
  const { log } = logging;
  const unsubscribe = context.onInterrupt(() => ending.interrupt());
  try {
    const exitCode = await untilOverdue(serve(settings, context, logging, ending), ending, host.clock, log.error);
    return exitCode ?? EXIT.failed;
  } finally {
    unsubscribe();
    await logging.flush();
  }
}

async function serve(
  settings: KubeletSettings,
  context: CommandContext,
  { log, setVerbosity }: KubeletLog,
  ending: Shutdown,
): Promise<number> {
  const { lockFiles, serviceManager, clock } = context.host;
  using service = new ServiceReport({ serviceManager, clock, log }, ending.requested);
  const onContention = (): void => void ending.request(); // never resolves: pods are left running
  const lockDeps = { lockFiles, log, onContention };
  const lock = await holdLockFile(settings.flags, lockDeps, ending.requested).catch((error: unknown) => {
    if (!ending.requested.aborted) throw error;
    return undefined;
  });
  if (lock === undefined) return EXIT.ok;
  await using _lock = lock;
  await using _claim = await claimRootDir(settings, context.host);
  await using _tracing = await startTracing(kubeletTracing(settings, context.env), { clock, log });
  const unhandled = createUnhandledErrors(context, log);
  const local = await start(settings, { ...context, unhandled, setVerbosity }, log, ending);
  if (local === undefined) return EXIT.ok;
  surviveErrors(context, unhandled);
  log.info('started', { node: settings.nodeName, runtime: settings.config.containerRuntimeEndpoint });
  service.ready(`node ${settings.nodeName}`, () => local.agent.syncLoopUnhealthyReason());
  try {
    await Promise.race([local.finished, aborted(ending.requested)]);
    return EXIT.ok;
  } finally {
    log.info('ending; containers are left running');
    await local.stop();
  }
}

/** Pods of one root directory have one agent: a running Nodelet and a running kubelet are errors. */
async function claimRootDir({ flags: { rootDir } }: KubeletSettings, { fs, folderClaims }: Host) {
  await fs.makeDirectory(rootDir, 0o750);
  await requireOwnFolder(fs, rootDir);
  await using undo = new AsyncDisposableStack();
  const claim = await folderClaims.claim(rootDir, 'agent').catch((error: unknown) => {
    if (!(error instanceof FolderTakenError)) throw error;
    throw new CommandError(`--root-dir: ${error.message}`, undefined, { cause: error });
  });
  undo.use(claim);
  const other = await findOtherKubelet(rootDir, fs);
  if (other)
    throw new CommandError(`--root-dir: ${rootDir} is in use by ${other.name} with pid ${other.pid}: stop it first`);
  undo.move();
  return claim;
}

/** `undefined` when a shutdown was requested before it had started. */
async function start(
  settings: KubeletSettings,
  process: AgentProcess,
  log: Log,
  ending: Shutdown,
): Promise<LocalAgent | undefined> {
  const { version, pid, host } = process;
  const { fs, network, clock } = host;
  const signal = ending.requested;
  let built: Agent | undefined;
  const onBuilt = (agent: Agent): void => {
    built = agent;
    logAgentEvents(agent, log);
  };
  const shutdown = async (): Promise<void> => {
    await built?.shutDown();
    void ending.request(); // never resolves: what is left of pods stays
  };
  const options = {
    stateDir: STATE_DIR,
    identity: { version, pid },
    fs,
    network,
    clock,
    onBuilt,
    ...(endsPodsAtShutdown(settings) && { shutdown }),
  };
  try {
    return await startLocalAgent(options, createKubeletAgentFactory(settings, STATE_DIR, process, log), signal);
  } catch (error) {
    if (signal.aborted) return undefined;
    if (!(error instanceof KubeconfigError)) throw error;
    throw new CommandError(`--kubeconfig: ${error.message}`, EXIT.badInput, { cause: error });
  }
}
