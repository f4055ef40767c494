import type { Lease, Node, NodeCondition } from '../../src/api/generated/core-v1.ts';
import type { AgentParts } from '../../src/app/agent.ts';
import { readAgentFacts } from '../../src/app/agent-facts.ts';
import { buildPressure } from '../../src/app/build-eviction.ts';
import { buildNode, type ClusterNode } from '../../src/app/build-node.ts';
import type { Log } from '../../src/base/log.ts';
import { createFakeRuntime, type FakeRuntime } from '../../src/cri/fake/fake-runtime.ts';
import { createMemoryHost, type MemoryHost } from '../../src/host/fake/memory-host.ts';
import { createMemoryApiServer, type MemoryApiServer } from '../../src/kubelet/api-client/fake/memory-api-server.ts';
import type { NodePressure } from '../../src/kubelet/eviction/node-pressure.ts';
import { PLAIN_NODE } from '../../src/kubelet/node/fake/plain-node.ts';
import { leaseKey } from '../../src/kubelet/node/lease/node-lease.ts';
import { nodeKey } from '../../src/kubelet/node/node-cache.ts';
import type { NodeSettings } from '../../src/kubelet/node/node-settings.ts';
import { RuntimeHealth } from '../../src/kubelet/pleg/runtime-health.ts';
import { FOREVER, SETTINGS } from './memory-agent.ts';

export const NODE: NodeSettings = { ...PLAIN_NODE, nodeName: SETTINGS.nodeName, rootDir: SETTINGS.rootDir };

/** A machine, its runtime and a control plane, all in memory and on virtual time. */
export interface NodeWorld {
  readonly host: MemoryHost;
  readonly runtime: FakeRuntime;
  readonly server: MemoryApiServer;
  readonly health: RuntimeHealth;
  /** Listeners of the runtime's network state. */
  readonly networkListeners: Set<() => void>;
  /** The network state of the runtime may have changed. */
  networkChanged(): void;
  /** `Reason: message`, in order. */
  readonly events: string[];
  /** Messages of the log, in order. */
  readonly logged: string[];
  node(): Promise<Node | undefined>;
  lease(): Promise<Lease | undefined>;
  condition(type: string): Promise<NodeCondition | undefined>;
}

export interface StartedNode extends AsyncDisposable {
  readonly node: ClusterNode;
  stop(): Promise<void>;
}

export async function newNodeWorld(): Promise<NodeWorld> {
  const host = createMemoryHost();
  const { clock, random, fs } = host;
  const server = createMemoryApiServer({ clock, random });
  const files = {
    '/etc/machine-id': '3d1219c7c4c5404aaa1f6d2a48adfda4\n',
    '/proc/sys/kernel/random/boot_id': '28319668-bd43-4697-8129-bcb3afd1ffb8\n',
    '/proc/sys/kernel/osrelease': '6.18.44\n',
    '/etc/os-release': 'NAME="Debian"\nPRETTY_NAME="Debian GNU/Linux 12 (bookworm)"\n',
    '/proc/meminfo': 'MemTotal:       16777216 kB\nSwapTotal:             0 kB\n',
  };
  for (const [path, text] of Object.entries(files)) {
    await fs.makeDirectory(path.slice(0, path.lastIndexOf('/')));
    await fs.writeFile(path, text);
  }
  const networkListeners = new Set<() => void>();
  const find = async <T>(answer: Promise<T>): Promise<T | undefined> => answer.catch(() => undefined);
  const node = (): Promise<Node | undefined> => find(server.direct.get(nodeKey(NODE.nodeName), FOREVER));
  return {
    host,
    runtime: createFakeRuntime({ clock, random }),
    server,
    health: new RuntimeHealth(clock),
    networkListeners,
    networkChanged: () => {
      for (const listener of networkListeners) listener();
    },
    events: [],
    logged: [],
    node,
    lease: () => find(server.direct.get(leaseKey(NODE.nodeName), FOREVER)),
    condition: async (type) => (await node())?.status?.conditions?.find((each) => each.type === type),
  };
}

/** Starts the node part of an agent; in a world that had one before, it is the one after a crash. */
export async function startNode(world: NodeWorld, settings: Partial<NodeSettings> = {}): Promise<StartedNode> {
  const { host, runtime, server, health, networkListeners, events, logged } = world;
  const line = (message: string): void => void logged.push(message);
  const log: Log = { debug() {}, info: line, warn: line, error: line };
  const parts: AgentParts = {
    host,
    cri: runtime.cri,
    runtimeEvents: undefined,
    sources: [],
    apiServer: server,
    node: { ...NODE, ...settings },
    onNetworkChange: (listener) => {
      networkListeners.add(listener);
      return () => networkListeners.delete(listener);
    },
    settings: SETTINGS,
    log,
  };
  const end = new AbortController();
  const facts = await readAgentFacts(parts, FOREVER);
  const pressure = buildPressure(parts, facts);
  const watching = watchPressure(pressure, host, end.signal);
  const node = buildNode(parts, facts, {
    health,
    pressure,
    events: { record: (_type, reason, message) => void events.push(`${reason}: ${message}`) },
  });
  const done = Promise.all([node.run(end.signal), watching]);
  async function stop(): Promise<void> {
    end.abort(new Error('stopped'));
    await host.clock.runUntil(done);
  }
  return { node, stop, [Symbol.asyncDispose]: stop };
}

/** Reads the signals as the eviction manager of a whole agent does. */
async function watchPressure(
  pressure: NodePressure | undefined,
  { clock }: MemoryHost,
  signal: AbortSignal,
): Promise<void> {
  while (!signal.aborted) {
    await clock.sleep(10_000, signal).catch(() => undefined);
    if (!signal.aborted) await pressure?.update(signal);
  }
}
