import type { Agent } from '../../app/agent.ts';
import { agentSettings } from '../../app/agent-settings.ts';
import { clientCertificateSettings } from '../../app/cluster/cluster-certificates.ts';
import { connectCluster, type NodeCluster } from '../../app/cluster/connect-cluster.ts';
import { KubeconfigError } from '../../app/cluster/kubeconfig-document.ts';
import { EMBEDDED } from '../../app/config/embedded-endpoint.ts';
import { kubeletHelp } from '../../app/config/kubelet-help.ts';
import { type KubeletSettings, loadKubeletConfig } from '../../app/config/load-config.ts';
import { notHonoured } from '../../app/config/not-honoured.ts';
import { formatDiagnostic } from '../../app/config/config-diagnostic.ts';
import { standaloneErrors } from '../../app/config/standalone-errors.ts';
import { DEFAULT_RUNTIME_CONFIG } from '../../app/embedded/embedded-settings.ts';
import { startEmbedded } from '../../app/embedded/start-embedded.ts';
import { nodeSettings } from '../../app/node-settings.ts';
import { DEFAULT_ROOT_DIR } from '../../app/pod-network/bridge-name.ts';
import { aborted } from '../../base/aborted.ts';
import { goArchitecture } from '../../base/go/go-architecture.ts';
import type { Log } from '../../base/log.ts';
import { runAllOrAbort } from '../../base/run-all-or-abort.ts';
import { connectInProcess } from '../../cri/in-process.ts';
import { checkRuntimeVersion } from '../../cri/version-check.ts';
import { FolderTakenError } from '../../host/folder-claims.ts';
import type { Host } from '../../host/host.ts';
import { hostIps } from '../../kubelet/node/addresses/host-ips.ts';
import { AddressReader } from '../../kubelet/node/addresses/read-addresses.ts';
import { OwnNode } from '../../kubelet/node/own-node.ts';
import { KUBERNETES_VERSION } from '../../kubelet/node/status/kubernetes-version.ts';
import { serveHealthz } from '../../kubelet/server/serve-healthz.ts';
import { createFileSource } from '../../kubelet/sources/file-source.ts';
import { createHttpSource } from '../../kubelet/sources/http-source.ts';
import type { PodSource } from '../../kubelet/sources/pod-source.ts';
import { CommandError, EXIT } from '../options/command-error.ts';
import { agentLog } from './agent-log.ts';
import { type ConnectedAgentOptions, buildConnectedAgent, connectEndpoint } from '../../app/build-connected-agent.ts';
import type { CommandContext } from './command-context.ts';
import { untilOverdue } from './end-deadline.ts';
import { Ending } from './ending.ts';
import { type AgentFactory, type LocalAgent, type StartedRuntime, startLocalAgent } from '../../app/start-local-agent.ts';
import { logAgentEvents } from '../../app/log-agent-events.ts';
import { requireRootOnLinux } from './require-root.ts';
import { serveNodeApi } from '../../app/serve-node-api.ts';

const STATE_DIR = '/run/nodelet';

/** What kubelet's units ask for; its own default of 0 would hide what happens. */
const DEFAULT_VERBOSITY = 2;

/** `nodelet kubelet`: takes kubelet's flags and files; ends on SIGTERM and leaves the containers running. */
export async function kubeletCommand(flags: readonly string[], context: CommandContext): Promise<number> {
  const { terminal, host, machine } = context;
  const ending = new Ending();
  const deps = { fs: host.fs, hostname: machine.hostname, cgroupVersion: host.cgroups.version };
  const { settings, diagnostics: faults } = await loadKubeletConfig(flags, deps, ending.asked);
  if (settings.flags.help || settings.flags.version !== false) {
    await terminal.stdout.write(settings.flags.help ? kubeletHelp() : `Kubernetes ${KUBERNETES_VERSION}\n`);
    return EXIT.ok;
  }
  const problems = [...faults, ...standaloneErrors(settings), ...notHonoured(settings.config)];
  for (const problem of problems) {
    await terminal.stderr.write(`nodelet kubelet: ${problem.severity}: ${formatDiagnostic(problem)}\n`);
  }
  if (problems.some(({ severity }) => severity === 'error')) return EXIT.badInput;
  requireRootOnLinux(context);
  const log = agentLog(context, settings.config.logging.verbosity || DEFAULT_VERBOSITY);
  const unsubscribe = context.onInterrupt(() => ending.interrupt());
  try {
    const exitCode = await untilOverdue(serve(settings, context, log, ending), ending, host.clock, log.error);
    return exitCode ?? EXIT.failed;
  } finally {
    unsubscribe();
  }
}

async function serve(settings: KubeletSettings, context: CommandContext, log: Log, ending: Ending): Promise<number> {
  await using _claim = await claimRootDir(settings, context.host);
  const local = await start(settings, context, log, ending.asked);
  if (local === undefined) return EXIT.ok;
  log.info('started', { node: settings.nodeName, runtime: settings.config.containerRuntimeEndpoint });
  try {
    await Promise.race([local.finished, aborted(ending.asked)]);
    return EXIT.ok;
  } finally {
    log.info('ending; containers are left running');
    await local.stop();
  }
}

/**
 * Pods of one folder have one agent. Of kubelet itself this sees nothing: it locks no folder, only the file of
 * `--lock-file` where it is given one.
 */
async function claimRootDir({ flags: { rootDir } }: KubeletSettings, { fs, folderClaims }: Host) {
  await fs.makeDirectory(rootDir, 0o750);
  return folderClaims.claim(rootDir, 'agent').catch((error: unknown) => {
    if (!(error instanceof FolderTakenError)) throw error;
    throw new CommandError(`--root-dir: ${error.message}`, undefined, { cause: error });
  });
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

function kubeletWiring(settings: KubeletSettings, context: CommandContext, log: Log): AgentFactory {
  const { config, parsed } = settings;
  const { host, machine } = context;
  const endpoint = config.containerRuntimeEndpoint;
  return {
    startRuntime: (signal) =>
      endpoint === EMBEDDED ? embeddedRuntime(context, log, signal) : foreignRuntime(endpoint),
    build: async (runtime, signal) => {
      const node = nodeSettings(settings);
      const addresses = new AddressReader(node, host);
      const ownNode = new OwnNode(node.nodeName);
      const [cluster, view] = await Promise.all([joinCluster(settings, context, log, signal), addresses.read(signal)]);
      const connection = runtime.connect({ ...host, runtimeRequestTimeoutMs: parsed.ms.runtimeRequestTimeout });
      const built = await buildConnectedAgent(
        {
          host,
          connection,
          sources: [...staticSources(settings, host, log), ...(cluster ? [cluster.source] : [])],
          ...(cluster && { cluster: serversOf(cluster) }),
          node,
          ownNode,
          onNetworkChange: runtime.onNetworkChange,
          settings: agentSettings(settings, machine, hostIps(node, view)),
          log,
          prepare: (cri) => runtime.prepare(cri, signal),
        },
        signal,
      );
      const close = (): void => {
        built.close();
        cluster?.close();
      };
      const { agent } = built;
      const syncLoopFault = (): string | undefined => agent.syncLoopUnhealthyReason();
      const healthz = { host: config.healthzBindAddress, port: config.healthzPort };
      const served = { host, log, view: agent, runtime: connection.runtime, syncLoopFault, cluster, ownNode };
      const beside = (until: AbortSignal): Promise<unknown> =>
        runAllOrAbort(
          [
            (each) => serveNodeApi(settings, served, each),
            (each) => serveHealthz(healthz, { ...host, log }, each),
            async (each) => cluster?.run(each),
          ],
          until,
        );
      return { ...built, runServers: beside, close };
    },
  };
}

function serversOf({ apiServer, eventApiServer, nodeApiServer }: NodeCluster): ConnectedAgentOptions['cluster'] & object {
  return { apiServer, eventApiServer, nodeApiServer };
}

/** The cluster of `--kubeconfig`; nothing for a node that stands alone. */
async function joinCluster(
  settings: KubeletSettings,
  { host, env, version }: CommandContext,
  log: Log,
  signal: AbortSignal,
): Promise<NodeCluster | undefined> {
  const { flags, config } = settings;
  if (!flags.kubeconfig) return undefined;
  const options = {
    userAgent: `nodelet/${version} (linux/${goArchitecture()}) kubernetes/${KUBERNETES_VERSION}`,
    rate: { qps: config.kubeAPIQPS || 5, burst: config.kubeAPIBurst || 10 }, // client-go takes 0 for these
    environment: env,
  };
  try {
    const certificate = clientCertificateSettings(settings, flags.kubeconfig);
    return await connectCluster(certificate, options, { ...host, log }, signal);
  } catch (error) {
    if (!(error instanceof KubeconfigError)) throw error;
    throw new CommandError(`--kubeconfig: ${error.message}`, EXIT.badInput, { cause: error });
  }
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
  { host, version, pid, env }: CommandContext,
  log: Log,
  signal: AbortSignal,
): Promise<StartedRuntime> {
  const places = { rootDir: DEFAULT_ROOT_DIR, stateDir: STATE_DIR };
  const waiting = (text: string): void => log.info(text);
  const parts = { ...DEFAULT_RUNTIME_CONFIG, ...places, host, version, pid, env, log, waiting };
  const runtime = await startEmbedded(parts, signal);
  return {
    connect: (options) => connectInProcess(runtime.cri, options),
    prepare: async () => {},
    isEmpty: async () => runtime.isEmpty(),
    onNetworkChange: (listener) => runtime.onNetworkChange(listener),
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
