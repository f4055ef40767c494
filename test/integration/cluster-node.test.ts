/** The node object at a real API server, written with node permissions, compared with that of kubelet. */
import assert from 'node:assert/strict';
import { readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, suite, test } from 'node:test';
import type { Lease, Node } from '../../src/api/generated/core-v1.ts';
import type { AgentParts } from '../../src/app/agent.ts';
import { readAgentFacts } from '../../src/app/agent-facts.ts';
import { buildPressure } from '../../src/app/build-eviction.ts';
import { buildNode } from '../../src/app/build-node.ts';
import { goArchitecture } from '../../src/base/go/go-architecture.ts';
import { parseQuantity } from '../../src/base/quantity.ts';
import { connectCri } from '../../src/cri/client.ts';
import { createLinuxHost } from '../../src/host/linux/linux-host.ts';
import { readMachineFacts } from '../../src/host/linux/proc/read-machine-facts.ts';
import type { NodeSettings } from '../../src/kubelet/node/node-settings.ts';
import { RuntimeHealth } from '../../src/kubelet/pleg/runtime-health.ts';
import { SETTINGS } from '../agent/memory-agent.ts';
import { differences } from '../agent/node-differences.ts';
import { NODE } from '../agent/node-world.ts';
import { connectTo } from './cluster-client-fixture.ts';
import { type ControlPlane, clusterSkipReason } from './cluster-fixture.ts';
import { skipReason as containerdSkipReason, startContainerd, type TestContainerd } from './containerd-fixture.ts';
import { goKubeletSkipReason, startGoKubelet } from './go-kubelet.ts';
import { nodeAddress, nodeKubeconfig } from './node-files.ts';
import { startPlaneAndRuntime } from './test-cluster.ts';
import { becomes, until } from './until.ts';

const OURS = 'ours';
const THEIRS = 'theirs';
const skip = clusterSkipReason() || containerdSkipReason();

/** One process of the node part of an agent. */
interface Life {
  readonly events: readonly string[];
  /** Messages of the log. */
  readonly logged: readonly string[];
  stop(): Promise<void>;
}

suite('a node of a real API server', { skip }, () => {
  let plane: ControlPlane;
  let runtime: TestContainerd;
  let life: Life;

  before(async () => {
    [plane, runtime] = await startPlaneAndRuntime(startContainerd);
    life = await startNode();
  });
  after(async () => {
    await life?.stop();
    await runtime?.stop();
    await plane?.stop();
  });

  async function startNode(): Promise<Life> {
    const end = new AbortController();
    const [events, logged]: [string[], string[]] = [[], []];
    const line = (message: string): void => void logged.push(message);
    const host = createLinuxHost(process.env);
    const connection = connectCri(runtime.endpoint, { clock: host.clock, runtimeRequestTimeoutMs: 10_000 });
    const apiServer = await connectTo(nodeKubeconfig(plane, OURS));
    const settings = { ...SETTINGS, nodeName: OURS, memoryCapacityBytes: readMachineFacts().memoryBytes };
    const parts: AgentParts = {
      host,
      cri: connection,
      runtimeEvents: undefined,
      sources: [],
      apiServer,
      node: nodeSettings(join(runtime.folder, 'kubelet')),
      settings,
      log: { debug() {}, info: line, warn: line, error: line },
    };
    const facts = await readAgentFacts(parts, end.signal);
    const node = buildNode(parts, facts, {
      health: new RuntimeHealth(host.clock),
      pressure: buildPressure(parts, facts),
      events: { record: (_type, reason) => void events.push(reason) },
    });
    const done = node.run(end.signal);
    return {
      events,
      logged,
      async stop() {
        end.abort(new Error('stopped'));
        await done;
        apiServer[Symbol.dispose]();
        connection.close();
      },
    };
  }

  const ready = (status: string): Promise<void> => plane.wait(`node/${OURS}`, 'create', `condition=Ready=${status}`);
  const nodeOf = async (name: string): Promise<Node> => JSON.parse(await plane.kubectl('get', 'node', name, '-ojson'));
  const lease = async (): Promise<Lease> =>
    JSON.parse(await plane.kubectl('get', 'lease', '-n', 'kube-node-lease', OURS, '-ojson'));

  test('registers and is ready', async () => {
    await ready('True');
    await until(() => life.events.includes('NodeReady'));
    assert.deepEqual(life.events.slice(-4), [
      'NodeHasSufficientMemory',
      'NodeHasNoDiskPressure',
      'NodeHasSufficientPID',
      'NodeReady',
    ]);
  });

  test('renews its lease, which the node owns', async () => {
    await plane.kubectl('wait', `lease/${OURS}`, '-n', 'kube-node-lease', '--for=create', '--timeout=180s');
    const first = await lease();
    assert.deepEqual(first.metadata.ownerReferences?.[0]?.uid, (await nodeOf(OURS)).metadata.uid);
    await until(async () => (await lease()).spec.renewTime !== first.spec.renewTime);
  });

  test('matches the node that kubelet creates on the same machine and runtime', {
    skip: goKubeletSkipReason(),
  }, async () => {
    const { endpoint, cgroupParent } = runtime;
    const kubelet = await startGoKubelet({ plane, nodeName: THEIRS, endpoint, cgroupParent });
    const found = async (): Promise<readonly string[]> =>
      differences(await nodeOf(OURS), await nodeOf(THEIRS)).filter((path) => !EXPECTED.some((each) => each.test(path)));
    try {
      await becomes(found, []); // each lists its images at its own time
    } finally {
      await kubelet.stop();
    }
  });

  test('preserves conditions of other clients, and follows the network of the runtime', async () => {
    const foreign = { type: 'NetworkUnavailable', status: 'False', reason: 'RouteCreated', message: 'made' };
    const patch = JSON.stringify({ status: { conditions: [foreign] } });
    await plane.kubectl('patch', 'node', OURS, '--subresource=status', '--type=strategic', '-p', patch);
    const folder = join(runtime.folder, 'cni');
    const networks = readdirSync(folder).map((name) => [join(folder, name), readFileSync(join(folder, name))] as const);
    for (const [path] of networks) rmSync(path);
    try {
      await ready('False');
    } finally {
      for (const [path, network] of networks) writeFileSync(path, network);
    }
    await ready('True');
    const { conditions = [] } = (await nodeOf(OURS)).status ?? {};
    const kept = conditions.find(({ type }) => type === foreign.type);
    assert.deepEqual([kept?.status, kept?.reason], [foreign.status, foreign.reason]);
  });

  test('continues after an outage of the server', async () => {
    const { spec } = await lease();
    await plane.pause();
    await plane.resume();
    await until(async () => (await lease()).spec.renewTime !== spec.renewTime);
    await ready('True');
  });

  test('is not recreated after its deletion until the next start', async () => {
    const before = life.logged.length;
    await plane.kubectl('delete', 'node', OURS);
    await until(() => life.logged.slice(before).includes('cannot update the node status'));
    await assert.rejects(plane.kubectl('get', 'node', OURS), /not found/);
    await life.stop();
    life = await startNode();
    await ready('True');
  });
});

/** Fields that differ for each node of a cluster, or for a reason. */
const EXPECTED: readonly RegExp[] = [
  /^metadata\.(name|uid|resourceVersion|creationTimestamp|labels\.kubernetes\.io\/hostname)$/,
  /^status\.addresses\.Hostname\.address$/,
  /^status\.conditions\.\w+\.last(Heartbeat|Transition)Time$/,
  /^status\.daemonEndpoints\./,
];

function nodeSettings(rootDir: string): NodeSettings {
  const address = nodeAddress();
  return {
    ...NODE,
    nodeName: OURS,
    rootDir,
    architecture: goArchitecture(),
    nodeIps: address === '' ? [] : [address],
    thresholds: [{ signal: 'memory.available', value: { quantity: parseQuantity('1Mi') }, gracePeriodMs: 0 }],
    statusUpdateMs: 1000,
    leaseSeconds: 4,
  };
}
