import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { AgentSettings } from '../../src/app/agent.ts';
import { buildAgent } from '../../src/app/build-agent.ts';
import { buildMetrics } from '../../src/app/build-metrics.ts';
import { connectCluster } from '../../src/app/cluster/connect-cluster.ts';
import { HEALTHY } from '../../src/app/config/healthy-config.fixture.ts';
import { createKubeletServer, type KubeletServerSettings } from '../../src/app/kubelet-server.ts';
import { connectEndpoint } from '../../src/app/start-runtime.ts';
import { silentLog } from '../../src/base/log.ts';
import { UnhandledErrors } from '../../src/base/unhandled-errors.ts';
import { chooseRuntimeEvents } from '../../src/cri/choose-runtime-events.ts';
import { createLinuxHost } from '../../src/host/linux/linux-host.ts';
import { ALL_HANDLERS } from '../../src/kubelet/server/debug-deps.fixture.ts';
import { SETTINGS } from '../agent/memory-agent.ts';
import type { ControlPlane } from './cluster-fixture.ts';
import type { TestRuntime } from './runtime-fixture.ts';

/** An agent in this process with its server, as a node of a control plane; the test writes the node object. */
export interface ServingNode {
  readonly nodeName: string;
  readonly port: number;
  stop(): Promise<void>;
}

const ADDRESS = '127.0.0.1';

export interface ServingOptions {
  readonly declaredFeatures: readonly string[];
  /** Whether the node translates WebSockets for its runtime. */
  readonly translatesStreams: boolean;
}

export async function startServingNode(
  plane: ControlPlane,
  runtime: TestRuntime,
  { declaredFeatures, translatesStreams }: ServingOptions,
): Promise<ServingNode> {
  const { nodeName } = SETTINGS;
  const host = createLinuxHost(process.env);
  const log = silentLog;
  const end = new AbortController();
  const kubeconfig = plane.kubeconfig({ user: `system:node:${nodeName}`, groups: ['system:nodes'] });
  const client = { userAgent: 'nodelet/test', rate: { qps: 50, burst: 100 }, environment: {} };
  await plane.apply({ apiVersion: 'v1', kind: 'Node', metadata: { name: nodeName } });
  const files = { certDir: join(plane.folder, 'node', 'pki'), kubeconfig, bootstrapKubeconfig: undefined };
  const certificate = { nodeName, rotateCertificates: false, ...files };
  const cluster = await connectCluster(certificate, client, { ...host, log }, end.signal);
  const { endpoint } = runtime;
  const cri = connectEndpoint(endpoint, { ...host, runtimeRequestTimeoutMs: 120_000 });
  const runtimeEvents = await chooseRuntimeEvents({ ...host, endpoint, runtime: cri.runtime }, end.signal);
  const { apiServer, source, reviews } = cluster;
  const settings = agentSettings(plane, runtime);
  const agent = await buildAgent({ host, cri, runtimeEvents, sources: [source], apiServer, settings, log }, end.signal);
  const unhandled = new UnhandledErrors({ clock: host.clock, log });
  const metrics = buildMetrics({ nodeName, featureGates: new Map(), config: HEALTHY }, { host, unhandled });
  metrics.follow(agent);
  const listening = Promise.withResolvers<number>();
  const server = createKubeletServer({
    host,
    log,
    unhandled,
    settings: serverSettings(plane, translatesStreams),
    metrics,
    view: agent,
    runtime: cri.runtime,
    process: { version: '0' },
    stats: agent.stats,
    syncLoopUnhealthyReason: () => agent.syncLoopUnhealthyReason(),
    devicePluginUnhealthyReason: () => agent.devicePluginUnhealthyReason(),
    certificate: servingCertificate(plane, nodeName),
    reviews,
    onListening: listening.resolve,
  });
  const running = Promise.all([agent.run(end.signal), server.run(end.signal)]);
  const port = await Promise.race([listening.promise, running.then(() => 0)]);
  await announce(plane, nodeName, { port, declaredFeatures });
  return {
    nodeName,
    port,
    async stop() {
      end.abort(new Error('the test is over'));
      await running;
      metrics.close();
      cluster.close();
      cri.close();
    },
  };
}

function agentSettings(plane: ControlPlane, { cgroupParent }: TestRuntime): AgentSettings {
  const folder = join(plane.folder, 'node');
  return { ...SETTINGS, rootDir: join(folder, 'root'), podLogsDir: join(folder, 'logs'), cgroupRoot: cgroupParent };
}

function serverSettings({ authority }: ControlPlane, translatesStreams: boolean): KubeletServerSettings {
  return {
    address: { address: ADDRESS, port: 0, clientCaFile: authority.caFile },
    authentication: { anonymous: false, webhookCacheTtlMs: 120_000 },
    authorization: { mode: 'Webhook', allowedTtlMs: 300_000, refusedTtlMs: 30_000 },
    splitStreams: false,
    tunnels: true,
    translatesStreams,
    debug: {
      handlers: ALL_HANDLERS,
      mayQueryLogs: false,
      checkpointFolder: '/tmp',
      runtimeTimeoutSeconds: 120,
      flags: {},
    },
    configuration: { kind: 'KubeletConfiguration' },
  };
}

function servingCertificate({ authority }: ControlPlane, nodeName: string) {
  const { certFile, keyFile } = authority.issue({ user: `serving-${nodeName}`, addresses: [ADDRESS] });
  const pair = { certificate: readFileSync(certFile, 'utf8'), key: readFileSync(keyFile, 'utf8') };
  return { current: () => pair, subscribe: () => () => {} };
}

/** The addresses under which the API server reaches the node. */
async function announce(
  plane: ControlPlane,
  nodeName: string,
  { port, declaredFeatures }: { readonly port: number; readonly declaredFeatures: readonly string[] },
): Promise<void> {
  const status = {
    addresses: [{ type: 'InternalIP', address: ADDRESS }],
    daemonEndpoints: { kubeletEndpoint: { Port: port } },
    declaredFeatures,
  };
  await plane.kubectl('patch', 'node', nodeName, '--subresource=status', '-p', JSON.stringify({ status }));
}
