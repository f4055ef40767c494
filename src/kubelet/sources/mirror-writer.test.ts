/** Mirror pods and statuses of static pods: API source, index and both writers together. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Pod } from '../../api/generated/core-v1.ts';
import { silentLog } from '../../base/log.ts';
import { SeededRandom } from '../../host/fake/seeded-random.ts';
import { VirtualClock } from '../../host/fake/virtual-clock.ts';
import { ApiError } from '../api-client/api-server.ts';
import { withApiTimeouts } from '../api-client/api-timeouts.ts';
import { createMemoryApiServer, type MemoryApiServer } from '../api-client/fake/memory-api-server.ts';
import { StatusStore } from '../status/status-store.ts';
import { createStatusWriter } from '../status/status-writer.ts';
import { createApiSource } from './api-source.ts';
import { type DesiredPods, mergeSnapshot, NO_PODS } from './desired-pods.ts';
import { createMirrorWriter } from './mirror-writer.ts';
import { indexPods, type PodIndex } from './pod-index.ts';
import type { SourceName, SourceSnapshot } from './pod-source.ts';

const LIFE = new AbortController().signal;
const key = { resource: 'pods', namespace: 'default', name: 'etcd-box' } as const;
const RUNNING = { phase: 'Running', qosClass: 'BestEffort', startTime: '2026-01-01T00:00:00Z' };

function staticPod(hash: string): Pod {
  const annotations = { 'kubernetes.io/config.source': 'file', 'kubernetes.io/config.hash': hash };
  return {
    metadata: { name: 'etcd-box', namespace: 'default', uid: hash, annotations },
    spec: { nodeName: 'box', containers: [{ name: 'main', image: 'busybox' }] },
  };
}

/** Connects the parts as the sync loop does. */
class Agent {
  readonly clock = new VirtualClock();
  readonly server: MemoryApiServer;
  readonly statuses = new StatusStore();
  readonly ending = new Set<string>();
  readonly #life = new AbortController();
  readonly #mirrors;
  readonly #writer;
  readonly #done: Promise<unknown>;
  #desired: DesiredPods = NO_PODS;
  #index: PodIndex = indexPods(NO_PODS);

  constructor() {
    const random = new SeededRandom(1);
    this.server = createMemoryApiServer({ clock: this.clock, random });
    const shared = { api: withApiTimeouts(this.server, { clock: this.clock, random }), clock: this.clock, random };
    this.#mirrors = createMirrorWriter({
      ...shared,
      log: silentLog,
      nodeName: 'box',
      view: () => ({ index: this.#index, sources: ['file', 'api'], ending: this.ending }),
    });
    this.#writer = createStatusWriter({
      ...shared,
      log: silentLog,
      statuses: this.statuses,
      apiPodOf: (pod) => this.#index.apiPodOf(pod),
      hasRunningContainers: () => true,
      podCanBeDeleted: () => false,
    });
    const source = createApiSource({ nodeName: 'box' }, { ...shared, log: silentLog });
    const { signal } = this.#life;
    const follow = async (): Promise<void> => {
      for await (const snapshot of source.snapshots(signal)) this.take('api', snapshot);
    };
    this.#done = Promise.all([follow(), this.#mirrors.run(signal), this.#writer.run(signal)]);
  }

  take(source: SourceName, snapshot: SourceSnapshot): void {
    const { desired, changes } = mergeSnapshot(this.#desired, source, snapshot);
    this.#desired = desired;
    this.#index = indexPods(desired);
    this.#mirrors.requestSync();
    for (const { pod } of changes) this.#writer.reconcile((this.#index.staticOf(pod) ?? pod).metadata.uid);
  }

  /** Sets the static pods; their containers run. */
  manifests(...pods: Pod[]): void {
    this.take('file', { pods, errors: [] });
    for (const pod of pods) this.statuses.update(pod, RUNNING);
  }

  /** A terminating pod is gone. */
  gone(): void {
    this.ending.clear();
    this.#mirrors.requestSync();
  }

  async registerNode(): Promise<void> {
    const node = { metadata: { name: 'box' }, spec: {} };
    await this.server.direct.create({ resource: 'nodes', namespace: '', name: 'box' }, node, LIFE);
  }

  /** The mirror as users see it: the version of its pod, and its phase. */
  async mirrorAfter(ms: number): Promise<string | undefined> {
    await this.clock.advance(ms);
    const mirror = await this.server.direct.get(key, LIFE).catch(() => undefined);
    return mirror && `${mirror.metadata.annotations?.['kubernetes.io/config.mirror']} ${mirror.status?.phase}`;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#life.abort();
    await this.clock.advance(0);
    await this.#done;
    assert.equal(this.clock.sleeping, 0);
  }
}

test('a static pod appears at the API server at once, with its status', async () => {
  await using agent = new Agent();
  await agent.registerNode();
  agent.manifests(staticPod('h1'));
  assert.equal(await agent.mirrorAfter(0), 'h1 Running');
});

test('a mirror waits for the node to be registered', async () => {
  await using agent = new Agent();
  agent.manifests(staticPod('h1'));
  assert.equal(await agent.mirrorAfter(5000), undefined);
  await agent.registerNode();
  assert.equal(await agent.mirrorAfter(15_000), 'h1 Running');
});

test('another version of the pod replaces the mirror after the old pod is gone', async () => {
  await using agent = new Agent();
  await agent.registerNode();
  agent.manifests(staticPod('h1'));
  await agent.mirrorAfter(0);
  agent.ending.add('etcd-box_default');
  agent.manifests(staticPod('h2'));
  assert.equal(await agent.mirrorAfter(1000), 'h1 Running');
  agent.gone();
  assert.equal(await agent.mirrorAfter(0), 'h2 Running');
});

test('a mirror that a user deletes, gracefully or by force, is recreated with its status', async () => {
  await using agent = new Agent();
  await agent.registerNode();
  agent.manifests(staticPod('h1'));
  await agent.mirrorAfter(0);
  const uids = new Set([(await agent.server.direct.get(key, LIFE)).metadata.uid]);
  for (const graceSeconds of [30, 0]) {
    await agent.server.direct.delete(key, { graceSeconds }, LIFE);
    assert.equal(await agent.mirrorAfter(0), 'h1 Running');
    uids.add((await agent.server.direct.get(key, LIFE)).metadata.uid);
  }
  assert.equal(uids.size, 3);
});

test('the mirror stays while its pod terminates, and is deleted after that', async () => {
  await using agent = new Agent();
  await agent.registerNode();
  agent.manifests(staticPod('h1'));
  await agent.mirrorAfter(0);
  agent.ending.add('etcd-box_default');
  agent.manifests();
  agent.statuses.update(staticPod('h1'), { ...RUNNING, message: 'ending' });
  assert.equal(await agent.mirrorAfter(0), 'h1 Running');
  assert.equal((await agent.server.direct.get(key, LIFE)).status?.message, 'ending');
  agent.gone();
  assert.equal(await agent.mirrorAfter(0), undefined);
});

test('mirrors converge after outages, lost answers and hanging requests', async () => {
  await using agent = new Agent();
  await agent.registerNode();
  const { faults } = agent.server;
  const lost = new ApiError('Unavailable', 'connection reset');
  faults.next('create', { kind: 'after', error: lost });
  faults.next('patch', { kind: 'hang' });
  faults.next('patch', { kind: 'after', error: lost });
  agent.manifests(staticPod('h1'));
  assert.equal(await agent.mirrorAfter(30_000), 'h1 Running');
  faults.setOutage(true);
  agent.manifests(staticPod('h2'));
  await agent.mirrorAfter(120_000);
  faults.setOutage(false);
  faults.next('delete', { kind: 'after', error: lost });
  assert.equal(await agent.mirrorAfter(90_000), 'h2 Running');
});
