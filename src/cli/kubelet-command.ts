import type { Agent } from '../app/agent.ts';
import { agentSettings } from '../app/agent-settings.ts';
import { kubeletHelp } from '../app/config/kubelet-help.ts';
import { type KubeletSettings, loadKubeletConfig } from '../app/config/load-config.ts';
import { notHonoured } from '../app/config/not-honoured.ts';
import { formatProblem } from '../app/config/problem.ts';
import { DEFAULT_CHOICES } from '../app/embedded/embedded-settings.ts';
import { startEmbedded } from '../app/embedded/start-embedded.ts';
import { DEFAULT_ROOT_DIR } from '../app/pod-network/bridge-name.ts';
import { aborted } from '../base/aborted.ts';
import type { Log } from '../base/log.ts';
import { connectInProcess } from '../cri/in-process.ts';
import { checkRuntimeVersion } from '../cri/version-check.ts';
import type { Host } from '../host/host.ts';
import { createFileSource } from '../kubelet/sources/file-source.ts';
import { createHttpSource } from '../kubelet/sources/http-source.ts';
import type { PodSource } from '../kubelet/sources/pod-source.ts';
import { agentLog } from './agent-log.ts';
import { buildOnRuntime, connectEndpoint } from './build-on-runtime.ts';
import { type CommandContext, CommandError, EXIT } from './command-context.ts';
import { Ending } from './ending.ts';
import { type AgentWiring, type LocalAgent, type StartedRuntime, startLocalAgent } from './local-agent.ts';
import { logAgentEvents } from './log-agent-events.ts';
import { requireRootOnLinux } from './require-root.ts';

const STATE_DIR = '/run/nodelet';

/** As `containerRuntimeEndpoint`: the runtime of this program. */
const EMBEDDED = 'embedded';

/** The Kubernetes whose kubelet this takes the place of. */
const KUBERNETES_VERSION = 'v1.36.4';

/** What kubelet's units ask for; its own default of 0 would hide what happens. */
const DEFAULT_VERBOSITY = 2;

/** `nodelet kubelet`: takes kubelet's flags and files; ends on SIGTERM and leaves the containers running. */
export async function kubeletCommand(flags: readonly string[], context: CommandContext): Promise<number> {
  const { terminal, host, machine } = context;
  const ending = new Ending();
  const deps = { fs: host.fs, hostname: machine.hostname, cgroupVersion: host.cgroups.version };
  const { settings, problems: faults } = await loadKubeletConfig(flags, deps, ending.asked);
  if (settings.flags.help || settings.flags.version !== false) {
    await terminal.stdout.write(settings.flags.help ? kubeletHelp() : `Kubernetes ${KUBERNETES_VERSION}\n`);
    return EXIT.ok;
  }
  const problems = [...faults, ...notHonoured(settings.config)];
  for (const problem of problems) {
    await terminal.stderr.write(`nodelet kubelet: ${problem.severity}: ${formatProblem(problem)}\n`);
  }
  if (problems.some(({ severity }) => severity === 'error')) return EXIT.failed;
  refuseCluster(settings);
  requireRootOnLinux(context);
  const log = agentLog(context, settings.config.logging.verbosity || DEFAULT_VERBOSITY);
  const unsubscribe = context.onInterrupt(() => ending.interrupt());
  try {
    return await serve(settings, context, log, ending);
  } finally {
    unsubscribe();
  }
}

function refuseCluster({ flags }: KubeletSettings): void {
  const flag = flags.kubeconfig ? '--kubeconfig' : flags.bootstrapKubeconfig ? '--bootstrap-kubeconfig' : undefined;
  if (flag === undefined) return;
  throw new CommandError(`${flag} is not supported yet: without it, pods come from the configuration's staticPodPath`);
}

async function serve(settings: KubeletSettings, context: CommandContext, log: Log, ending: Ending): Promise<number> {
  const local = await start(settings, context, log, ending.asked);
  if (local === undefined) return EXIT.ok;
  log.info('started', { node: settings.nodeName, runtime: settings.config.containerRuntimeEndpoint });
  try {
    await Promise.race([local.finished, aborted(ending.asked)]);
    return EXIT.ok;
  } finally {
    log.info('ending; containers are left running');
    // A second request to end does not wait for what the first one is waiting for.
    await Promise.race([local.stop(), aborted(ending.insisted)]);
  }
}

/** `undefined` when it was told to end before it had started. */
async function start(
  settings: KubeletSettings,
  context: CommandContext,
  log: Log,
  signal: AbortSignal,
): Promise<LocalAgent | undefined> {
  const { version, pid, host } = context;
  const { fs, network, clock } = host;
  const built = (agent: Agent): void => void logAgentEvents(agent, log);
  const options = { stateDir: STATE_DIR, identity: { version, pid }, fs, network, clock, built };
  try {
    return await startLocalAgent(options, kubeletWiring(settings, context, log), signal);
  } catch (error) {
    if (signal.aborted) return undefined;
    throw error;
  }
}

function kubeletWiring(settings: KubeletSettings, context: CommandContext, log: Log): AgentWiring {
  const { config, parsed } = settings;
  const { host, machine } = context;
  const endpoint = config.containerRuntimeEndpoint;
  return {
    startRuntime: (signal) =>
      endpoint === EMBEDDED ? embeddedRuntime(context, log, signal) : foreignRuntime(endpoint),
    build: (runtime, signal) =>
      buildOnRuntime(
        {
          host,
          connection: runtime.connect({ ...host, runtimeRequestTimeoutMs: parsed.ms.runtimeRequestTimeout }),
          sources: staticSources(settings, host, log),
          settings: agentSettings(settings, machine),
          log,
          prepare: (cri) => runtime.prepare(cri, signal),
        },
        signal,
      ),
  };
}

/** Not ours to start or stop. */
async function foreignRuntime(endpoint: string): Promise<StartedRuntime> {
  return {
    connect: (options) => connectEndpoint(endpoint, options),
    prepare: ({ runtime }, signal) => checkRuntimeVersion(runtime, endpoint, signal),
    isEmpty: async () => true,
    stop: async () => true,
  };
}

/** In this process; its containers outlive it. The network is the cluster's, as on any node. */
async function embeddedRuntime(
  { host, version }: CommandContext,
  log: Log,
  signal: AbortSignal,
): Promise<StartedRuntime> {
  const places = { rootDir: DEFAULT_ROOT_DIR, stateDir: STATE_DIR };
  const runtime = await startEmbedded({ ...DEFAULT_CHOICES, ...places, host, version, log }, signal);
  return {
    connect: (options) => connectInProcess(runtime.cri, options),
    prepare: async () => {},
    isEmpty: async () => runtime.isEmpty(),
    async stop() {
      await runtime.close();
      return true; // what runs is meant to
    },
  };
}

/** Where a node that stands alone has its pods from. */
function staticSources(settings: KubeletSettings, host: Host, log: Log): readonly PodSource[] {
  const { config, parsed, featureGates, nodeName } = settings;
  const { staticPodPath, staticPodURL, staticPodURLHeader = {} } = config;
  const references = featureGates.get('PreventStaticPodAPIReferences') ? 'none' : 'api';
  const sources: PodSource[] = [];
  if (staticPodPath) {
    const options = { paths: [staticPodPath], nodeName, rescanMs: parsed.ms.fileCheckFrequency, references } as const;
    sources.push(createFileSource(options, host));
  }
  if (staticPodURL) {
    const options = {
      url: staticPodURL,
      headers: staticPodURLHeader,
      nodeName,
      periodMs: parsed.ms.httpCheckFrequency,
      references,
    } as const;
    sources.push(createHttpSource(options, { ...host, log }));
  }
  return sources;
}
