import assert from 'node:assert/strict';
import { defaultPod } from '../../src/api/defaults/default-pod.ts';
import type { Pod } from '../../src/api/generated/core-v1.ts';
import type { Agent, AgentParts, AgentSettings } from '../../src/app/agent.ts';
import { buildAgent } from '../../src/app/build-agent.ts';
import { ChangeSignal } from '../../src/base/change-signal.ts';
import { type Log, silentLog } from '../../src/base/log.ts';
import { UnhandledErrors } from '../../src/base/unhandled-errors.ts';
import { criEvents } from '../../src/cri/cri-events.ts';
import { createFakeRuntime, type FakeRuntime } from '../../src/cri/fake/fake-runtime.ts';
import { createMemoryHost, type MemoryHost } from '../../src/host/fake/memory-host.ts';
import { createMemoryApiServer, type MemoryApiServer } from '../../src/kubelet/api-client/fake/memory-api-server.ts';
import { createApiSource } from '../../src/kubelet/sources/api-source.ts';
import type { PodSource, SourceSnapshot } from '../../src/kubelet/sources/pod-source.ts';
import { NO_OBJECTS, type SourceObjects } from '../../src/kubelet/sources/source-objects.ts';

export const FOREVER = new AbortController().signal;

/** A source whose snapshots the test sets. */
export class ScriptedSource implements PodSource {
  readonly name = 'file';
  readonly #bell = new ChangeSignal();
  #error: { readonly error: unknown } | undefined;
  #snapshot: SourceSnapshot | undefined;
  #objects = NO_OBJECTS;

  set(...pods: Pod[]): void {
    this.#snapshot = { pods: pods.map(defaultPod), errors: [], objects: this.#objects };
    this.#bell.notify();
  }

  /** Ends the current stream of snapshots with an error. */
  fail(error: unknown): void {
    this.#error = { error };
    this.#bell.notify();
  }

  /** Sets the objects beside the pods. */
  setObjects(objects: Partial<SourceObjects>): void {
    this.#objects = { ...NO_OBJECTS, ...objects };
    this.#snapshot = { pods: [], errors: [], ...this.#snapshot, objects: this.#objects };
    this.#bell.notify();
  }

  async *snapshots(signal: AbortSignal): AsyncGenerator<SourceSnapshot> {
    if (this.#snapshot) yield this.#snapshot;
    while (await this.#bell.next(signal)) {
      const failed = this.#error;
      this.#error = undefined;
      if (failed) throw failed.error;
      if (this.#snapshot) yield this.#snapshot;
    }
  }
}

/** A machine, its runtime and an agent, all in memory and on virtual time. */
export interface MemoryAgent extends AsyncDisposable {
  readonly host: MemoryHost;
  readonly runtime: FakeRuntime;
  readonly source: ScriptedSource;
  readonly agent: Agent;
  readonly unhandled: UnhandledErrors;
  /** Settles when the agent has ended. */
  readonly done: Promise<void>;
  /** Releases everything, as the end of the process does; the machine and the runtime stay. Done at the end of an `await using` too. */
  stop(): Promise<void>;
}

export interface World {
  readonly host: MemoryHost;
  readonly runtime: FakeRuntime;
  /** If present, pods also come from there, and their statuses are written there. */
  readonly apiServer?: MemoryApiServer;
}

export const SETTINGS: AgentSettings = {
  nodeName: 'box',
  hostIPs: ['192.0.2.1'],
  rootDir: '/var/lib/kubelet',
  podLogsDir: '/var/log/pods',
  cgroupRoot: '/',
  clusterDns: [],
  clusterDomain: '',
  resolvConf: '',
  maxPods: 110,
  podPidsLimit: -1,
  cpuCfsQuota: true,
  cpuCfsQuotaPeriodMs: 100,
  seccompDefault: false,
  maxContainerRestartPeriodMs: 300_000,
  syncFrequencyMs: 60_000,
  serializeImagePulls: true,
  maxParallelImagePulls: undefined,
  imagePulls: { rate: { qps: 5, burst: 10 }, verification: { kind: 'NeverVerifyPreloadedImages' } },
  memoryCapacityBytes: 16 * 2 ** 30,
  containerLogs: { maxBytes: -1, maxFiles: 5, maxWorkers: 1, monitorIntervalMs: 10_000 },
  unusedImages: { highPercent: 85, lowPercent: 80, minimumAgeMs: 120_000, maximumAgeMs: 0 },
  deadContainers: { minimumAgeMs: 0, maxPerContainer: 1, maxTotal: undefined },
};

export function newWorld(): World {
  const host = createMemoryHost();
  const runtime = createFakeRuntime({ clock: host.clock, random: host.random });
  runtime.addImage('busybox:1');
  return { host, runtime };
}

/** A machine that is a cluster node. */
export async function newClusterWorld(): Promise<Required<World>> {
  const world = newWorld();
  const { clock, random } = world.host;
  const apiServer = createMemoryApiServer({ clock, random });
  const key = { resource: 'nodes', namespace: '', name: SETTINGS.nodeName } as const;
  await apiServer.direct.create(key, { metadata: { name: SETTINGS.nodeName }, spec: {} }, FOREVER);
  return { ...world, apiServer };
}

/** Starts an agent; on a world that had one before, it is the agent after a crash. */
export async function startAgent(
  { host, runtime, apiServer }: World = newWorld(),
  settings: Partial<AgentSettings> = {},
  log: Log = silentLog,
  expectedUnhandled: readonly string[] = [],
  more: Pick<AgentParts, 'node' | 'connectDevicePlugins'> = {},
): Promise<MemoryAgent> {
  const source = new ScriptedSource();
  const unhandled = new UnhandledErrors({ clock: host.clock, log });
  const end = new AbortController();
  const { clock, random } = host;
  const { nodeName } = SETTINGS;
  const fromApi = apiServer ? [createApiSource({ nodeName }, { api: apiServer, clock, random, log })] : [];
  const agent = await buildAgent(
    {
      host,
      cri: runtime.cri,
      runtimeEvents: criEvents(runtime.cri.runtime),
      sources: [source, ...fromApi],
      settings: { ...SETTINGS, ...settings },
      log,
      unhandled,
      ...(apiServer && { apiServer }),
      ...more,
    },
    end.signal,
  );
  const done = agent.run(end.signal);
  async function stop(): Promise<void> {
    end.abort(new Error('stopped'));
    await host.clock.runUntil(done);
    assert.deepEqual([...unhandled.counts.keys()], expectedUnhandled, 'parts with unexpected errors');
  }
  return { host, runtime, source, agent, unhandled, done, stop, [Symbol.asyncDispose]: stop };
}

/** An agent and the API server that its pods come from. */
export type ClusterAgent = MemoryAgent & Required<World>;

/** Starts an agent without static pods. */
export async function startClusterAgent(world?: Required<World>): Promise<ClusterAgent> {
  const { apiServer, ...machine } = world ?? (await newClusterWorld());
  const it = await startAgent({ ...machine, apiServer });
  it.source.set();
  return { ...it, apiServer };
}

export function podOf(name: string, spec: Partial<Pod['spec']> = {}): Pod {
  return {
    metadata: { name, namespace: 'default', uid: `uid-${name}` },
    spec: { containers: [{ name: 'main', image: 'busybox:1' }], ...spec },
  };
}

export function podKey(name: string) {
  return { resource: 'pods', namespace: 'default', name } as const;
}

/** Creates a pod of this node at the API server, which assigns its UID. */
export async function createPod({ apiServer }: Required<World>, { metadata, spec }: Pod): Promise<Pod> {
  const pod = { metadata: { ...metadata, uid: '' }, spec: { ...spec, nodeName: SETTINGS.nodeName } };
  return apiServer.direct.create(podKey(metadata.name), pod, FOREVER);
}

/** The phase of the first pod. */
export function phaseOf({ agent }: MemoryAgent): string | undefined {
  return agent.pods()[0]?.status.phase;
}

/** The distinct warnings of the first pod: `Reason: message`. */
export function warnings({ agent }: MemoryAgent): string[] {
  const events = agent.pods()[0]?.events ?? [];
  const texts = events.flatMap(({ type, reason, message }) => (type === 'Warning' ? [`${reason}: ${message}`] : []));
  return [...new Set(texts)];
}
