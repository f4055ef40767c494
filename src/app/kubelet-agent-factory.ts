import { goArchitecture } from '../base/go/go-architecture.ts';
import { type Log, moduleLog } from '../base/log.ts';
import { runAllOrAbort } from '../base/run-all-or-abort.ts';
import { type Part, supervise } from '../base/supervise.ts';
import type { CgroupDriver } from '../host/cgroups.ts';
import type { Host } from '../host/host.ts';
import { keepUtilChains } from '../kubelet/host-network/keep-util-chains.ts';
import { passPodCidr } from '../kubelet/host-network/pod-cidr.ts';
import { hostIps } from '../kubelet/node/addresses/host-ips.ts';
import { AddressReader } from '../kubelet/node/addresses/read-addresses.ts';
import { NodeCache } from '../kubelet/node/node-cache.ts';
import { KUBERNETES_VERSION } from '../kubelet/node/status/kubernetes-version.ts';
import { setOwnOomScoreAdj } from '../kubelet/oom/oom-score-adj.ts';
import { serveHealthz } from '../kubelet/server/serve-healthz.ts';
import { createFileSource } from '../kubelet/sources/file-source.ts';
import { createHttpSource } from '../kubelet/sources/http-source.ts';
import type { PodSource } from '../kubelet/sources/pod-source.ts';
import { keepSystemCgroups } from '../kubelet/system-containers/system-cgroups.ts';
import { registrationServer } from '../plugins/device/serve-registration.ts';
import { servePodResources } from '../plugins/pod-resources/serve-pod-resources.ts';
import type { AgentProcess } from './agent-process.ts';
import { agentSettings } from './agent-settings.ts';
import { type BuiltAgent, buildConnectedAgent, type ConnectedAgentOptions } from './build-connected-agent.ts';
import { buildMetrics, type KubeletMetrics } from './build-metrics.ts';
import { chooseCgroupDriver, configuredCgroupDriver } from './cgroup-driver.ts';
import { clientCertificateSettings } from './cluster/cluster-certificates.ts';
import { connectCluster, type NodeCluster } from './cluster/connect-cluster.ts';
import { EMBEDDED } from './config/embedded-endpoint.ts';
import type { KubeletSettings } from './config/load-config.ts';
import { inModule } from './in-module.ts';
import { nodeSettings } from './node-settings.ts';
import { DEFAULT_ROOT_DIR } from './pod-network/bridge-name.ts';
import { prepareNode, systemCgroups } from './prepare-node.ts';
import { requireSwapSettings } from './require-swap.ts';
import { serveNodeApi } from './serve-node-api.ts';
import { shareRootDir } from './shared-root.ts';
import type { AgentFactory } from './start-local-agent.ts';
import {
  connectPrepared,
  externalRuntime,
  type RuntimeConnection,
  type StartedRuntime,
  startEmbeddedRuntime,
} from './start-runtime.ts';

/** Builds the agent of `nodelet kubelet` from kubelet's configuration. `build` rejects with a `KubeconfigError`. */
export function createKubeletAgentFactory(
  settings: KubeletSettings,
  stateDir: string,
  process: AgentProcess,
  log: Log,
): AgentFactory {
  const { containerRuntimeEndpoint: endpoint, imageServiceEndpoint: images = '' } = settings.config;
  const cgroupDriver = configuredCgroupDriver(settings.config.cgroupDriver);
  const streamIdleTimeoutMs = settings.parsed.ms.streamingConnectionIdleTimeout;
  return {
    async startRuntime(signal) {
      const { fs } = process.host;
      await setOwnOomScoreAdj(settings.config.oomScoreAdj, { fs, log });
      await requireSwapSettings(settings, process.host, log);
      return endpoint === EMBEDDED
        ? startEmbeddedRuntime(
            { rootDir: DEFAULT_ROOT_DIR, stateDir, cgroupDriver, streamIdleTimeoutMs },
            process,
            moduleLog(log, 'runtime'),
            signal,
          )
        : externalRuntime({ runtime: endpoint, images }, process.host.fs, log);
    },
    build: (runtime, signal) => buildKubeletAgent(runtime, settings, process, log, signal),
  };
}

async function buildKubeletAgent(
  runtime: StartedRuntime,
  settings: KubeletSettings,
  process: AgentProcess,
  log: Log,
  signal: AbortSignal,
): Promise<BuiltAgent> {
  const { config, parsed, flags } = settings;
  const { fs, mounts, clock } = process.host;
  await shareRootDir(flags.rootDir, { fs, mounts, log });
  const { runtimeRequestTimeout: runtimeRequestTimeoutMs } = parsed.ms;
  const metrics = buildMetrics(settings, process);
  const connection = await connectPrepared(runtime, { clock, runtimeRequestTimeoutMs }, signal);
  try {
    const cgroupDriver = await chooseCgroupDriver(config.cgroupDriver, connection.runtime, log, signal);
    const connected = { connection, cgroupDriver, metrics, onNetworkChange: runtime.onNetworkChange };
    const built = await buildOnConnection(connected, settings, process, log, signal);
    metrics.follow(built.agent);
    return built;
  } catch (error) {
    connection.close();
    metrics.close();
    throw error;
  }
}

interface Connected {
  readonly metrics: KubeletMetrics;
  readonly connection: RuntimeConnection;
  readonly cgroupDriver: CgroupDriver;
  readonly onNetworkChange: StartedRuntime['onNetworkChange'];
}

async function buildOnConnection(
  { connection, cgroupDriver, metrics, onNetworkChange }: Connected,
  settings: KubeletSettings,
  process: AgentProcess,
  log: Log,
  signal: AbortSignal,
): Promise<BuiltAgent> {
  const { config } = settings;
  const { machine, env, unhandled, host } = process;
  const { clock, network, addresses } = host;
  const node = nodeSettings(settings, cgroupDriver);
  const startEvents = await prepareNode(settings, { process, cgroupDriver, node, log });
  const addressReader = new AddressReader(node, { addresses, network, clock });
  const ownNode = new NodeCache(node.nodeName);
  const [cluster, view] = await Promise.all([
    joinCluster(settings, process, moduleLog(log, 'cluster'), signal),
    addressReader.read(signal),
  ]);
  const built = await buildConnectedAgent(
    {
      host,
      connection,
      sources: [...staticSources(settings, host, moduleLog(log, 'sources')), ...(cluster ? [cluster.source] : [])],
      ...(cluster && { cluster: apiServersOf(cluster) }),
      node,
      ownNode,
      startEvents,
      onNetworkChange,
      serveDeviceRegistration: registrationServer({ fs: host.fs, log }),
      servePodResources: (folder, service, until) =>
        servePodResources(folder, service, { fs: host.fs, clock, log }, until),
      settings: agentSettings(settings, machine, { env, hostIPs: hostIps(node, view), cgroupDriver }),
      log,
      unhandled,
    },
    signal,
  );
  const { agent } = built;
  const healthReasons = {
    syncLoopUnhealthyReason: (): string | undefined => agent.syncLoopUnhealthyReason(),
    devicePluginUnhealthyReason: (): string | undefined => agent.devicePluginUnhealthyReason(),
  };
  const healthz = { host: config.healthzBindAddress, port: config.healthzPort };
  const { runtime: cri } = connection;
  const served = { view: agent, runtime: cri, stats: agent.stats, ...healthReasons };
  const nodeApi = { host, log, unhandled, metrics, process, ...served, cluster, ownNode };
  const failedParts = (): string | undefined => unhandled.failedParts();
  const beside: readonly Part[] = [
    { name: 'healthz', run: (each) => serveHealthz(healthz, { network, clock, log, failedParts }, each) },
    ...hostParts(settings, { process, log, ownNode, runtime: cri }),
    { name: 'client certificate', run: async (each) => cluster?.run(each) },
  ];
  return {
    agent,
    runtime: built.runtime,
    runServers: (until) =>
      runAllOrAbort(
        [
          (each) => serveNodeApi(settings, inModule(nodeApi, 'server'), each),
          ...beside.map((part) => (each: AbortSignal) => supervise(part, { clock, unhandled }, each)),
        ],
        until,
      ),
    close() {
      metrics.close();
      built.close();
      cluster?.close();
    },
  };
}

interface HostPartsDeps {
  readonly process: AgentProcess;
  readonly log: Log;
  readonly ownNode: NodeCache;
  readonly runtime: RuntimeConnection['runtime'];
}

/** What kubelet keeps on the machine beside its pods: cgroups of processes, iptables chains, the runtime's pod CIDR. */
function hostParts(settings: KubeletSettings, { process, log, ownNode, runtime }: HostPartsDeps): readonly Part[] {
  const { config } = settings;
  const { clock, fs, cgroups, processes } = process.host;
  const system = { fs, cgroups, clock, log, pid: process.pid };
  const cidr = { runtime, node: ownNode, clock, log };
  return [
    { name: 'system cgroups', run: (signal) => keepSystemCgroups(systemCgroups(settings), system, signal) },
    { name: 'pod CIDR', run: (signal) => passPodCidr(config.podCIDR ?? '', cidr, signal), isEndless: true },
    ...(config.makeIPTablesUtilChains
      ? [{ name: 'iptables chains', run: (signal: AbortSignal) => keepUtilChains({ processes, clock, log }, signal) }]
      : []),
  ];
}

function apiServersOf({
  apiServer,
  eventApiServer,
  nodeApiServer,
}: NodeCluster): ConnectedAgentOptions['cluster'] & object {
  return { apiServer, eventApiServer, nodeApiServer };
}

/** Connects to the cluster of `--kubeconfig`; `undefined` for a standalone node. */
async function joinCluster(
  settings: KubeletSettings,
  { host, env, version }: AgentProcess,
  log: Log,
  signal: AbortSignal,
): Promise<NodeCluster | undefined> {
  const { flags, config } = settings;
  if (!flags.kubeconfig) return undefined;
  const options = {
    userAgent: `nodelet/${version} (linux/${goArchitecture()}) kubernetes/${KUBERNETES_VERSION}`,
    rate: { qps: config.kubeAPIQPS || 5, burst: config.kubeAPIBurst || 10 }, // client-go reads 0 as these defaults
    environment: env,
  };
  const { fs, network, processes, clock, random, signingKeys } = host;
  const deps = { fs, network, processes, clock, random, signingKeys, log };
  return connectCluster(clientCertificateSettings(settings, flags.kubeconfig), options, deps, signal);
}

/** The sources of static pods: a folder, a URL. */
function staticSources(settings: KubeletSettings, host: Host, log: Log): readonly PodSource[] {
  const { config, parsed, featureGates, nodeName } = settings;
  const { fs, clock, random, network } = host;
  const { staticPodPath, staticPodURL, staticPodURLHeader = {} } = config;
  const references = featureGates.get('PreventStaticPodAPIReferences') ? 'none' : 'api';
  const sources: PodSource[] = [];
  if (staticPodPath) {
    const options = { paths: [staticPodPath], nodeName, rescanMs: parsed.ms.fileCheckFrequency, references } as const;
    sources.push(createFileSource(options, { fs, clock }));
  }
  if (staticPodURL) {
    const options = {
      url: staticPodURL,
      headers: staticPodURLHeader,
      nodeName,
      periodMs: parsed.ms.httpCheckFrequency,
      references,
    } as const;
    sources.push(createHttpSource(options, { network, clock, random, log }));
  }
  return sources;
}
