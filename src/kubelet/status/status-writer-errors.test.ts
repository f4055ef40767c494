/** Whatever goes wrong, in the end the API server has the last status, and pods that are to go are gone. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Pod, PodStatus } from '../../api/generated/core-v1.ts';
import { silentLog } from '../../base/log.ts';
import { SeededRandom } from '../../host/fake/seeded-random.ts';
import { VirtualClock } from '../../host/fake/virtual-clock.ts';
import { ApiError, type ApiServer } from '../api-client/api-server.ts';
import { withApiTimeouts } from '../api-client/api-timeouts.ts';
import type { ApiFault } from '../api-client/fake/api-faults.ts';
import { createMemoryApiServer, type MemoryApiServer } from '../api-client/fake/memory-api-server.ts';
import { StatusStore } from './status-store.ts';
import { createStatusWriter } from './status-writer.ts';

const LIFE = new AbortController().signal;
const SEEDS = 40;
const STEPS = 60;
const NAMES = ['a', 'b', 'c'] as const;

const faults: readonly (ApiFault | undefined)[] = [
  undefined,
  undefined,
  { kind: 'before', error: new ApiError('Unavailable', 'connection refused') },
  { kind: 'before', error: new ApiError('Conflict', 'the object has been modified') },
  { kind: 'after', error: new ApiError('Unavailable', 'connection reset') },
  { kind: 'delay', ms: 3000 },
  { kind: 'hang' },
];

function keyOf(name: string) {
  return { resource: 'pods', namespace: 'default', name } as const;
}

/** Fails the test when two requests for one pod are under way. */
function oneAtATime(api: ApiServer): ApiServer {
  const busy = new Set<string>();
  const alone = async <T>(name: string, call: () => Promise<T>): Promise<T> => {
    assert.ok(!busy.has(name), `two requests for ${name} at once`);
    busy.add(name);
    return call().finally(() => busy.delete(name));
  };
  return {
    ...api,
    patch: (key, patch, options, signal) => alone(key.name, () => api.patch(key, patch, options, signal)),
    delete: (key, options, signal) => alone(key.name, () => api.delete(key, options, signal)),
  };
}

class World {
  readonly clock = new VirtualClock();
  readonly random: SeededRandom;
  readonly server: MemoryApiServer;
  readonly statuses = new StatusStore();
  readonly ended = new Set<string>();
  readonly done: Promise<void>;
  readonly #life = new AbortController();
  readonly #seen = new Map<string, Pod>();
  readonly #writer;

  constructor(seed: number) {
    this.random = new SeededRandom(seed);
    const { clock, random, statuses } = this;
    this.server = createMemoryApiServer({ clock, random: new SeededRandom(seed) });
    this.#writer = createStatusWriter({
      statuses,
      api: oneAtATime(withApiTimeouts(this.server, { clock, random })),
      clock,
      random,
      log: silentLog,
      apiPodOf: ({ metadata: { uid } }) => this.#seen.get(uid),
      hasRunningContainers: (uid) => !this.ended.has(uid),
      podCanBeDeleted: (uid) => this.ended.has(uid),
    });
    this.done = this.#writer.run(this.#life.signal);
  }

  /** The watch: what the server has now, and which pods are gone. */
  async watch(): Promise<void> {
    const { items } = await this.server.direct.list({ resource: 'pods' }, LIFE);
    const uids = new Set([...this.#seen.keys(), ...items.map(({ metadata }) => metadata.uid)]);
    this.#seen.clear();
    for (const pod of items) this.#seen.set(pod.metadata.uid, pod);
    for (const uid of uids) {
      if (!this.#seen.has(uid)) this.statuses.remove(uid);
      this.#writer.reconcile(uid);
    }
  }

  async happen(): Promise<void> {
    const { random, server, statuses } = this;
    const name = random.pick(NAMES) ?? 'a';
    const pod: Pod = {
      metadata: { name, namespace: 'default', uid: '' },
      spec: { nodeName: 'box', containers: [], terminationGracePeriodSeconds: 30 },
    };
    const known = [...this.#seen.values()].find(({ metadata }) => metadata.name === name);
    const write = (status: PodStatus) => known && statuses.update(known, { qosClass: 'BestEffort', ...status });
    const stranger = { status: { phase: 'Unknown', conditions: [{ type: 'example.com/gate', status: 'True' }] } };
    const happenings = [
      () => server.direct.create(keyOf(name), pod, LIFE),
      () => server.direct.delete(keyOf(name), {}, LIFE),
      () => server.direct.delete(keyOf(name), { graceSeconds: 0 }, LIFE),
      () => server.direct.patch(keyOf(name), stranger, { subresource: 'status' }, LIFE),
      async () => write({ phase: 'Running', message: String(random.fraction()) }),
      async () => write({ phase: 'Running', message: String(random.fraction()) }),
      async () => {
        if (known) this.ended.add(known.metadata.uid);
        write({ phase: 'Succeeded' });
      },
      async () => server.faults.setOutage(true),
      async () => server.faults.setOutage(false),
      () => this.watch(),
      () => this.watch(),
    ];
    await random
      .pick(happenings)?.()
      .catch(() => undefined);
  }

  async stop(): Promise<void> {
    this.#life.abort();
    await this.clock.advance(0);
    await this.done;
  }
}

for (let seed = 1; seed <= SEEDS; seed++) {
  test(`statuses converge after faults (seed ${seed})`, async () => {
    const world = new World(seed);
    const { server, clock, random, statuses, ended } = world;
    server.faults.everyCall(() => random.pick(faults));
    for (let count = 0; count < STEPS; count++) {
      await world.happen();
      await clock.advance(random.pick([0, 0, 10, 2000, 10_000]) ?? 0);
    }
    server.faults.setOutage(false);
    server.faults.everyCall(() => undefined);
    // The watch reports the changes of the writer, until there are no more.
    for (let round = 0; round < 3; round++) {
      await world.watch();
      await clock.advance(60_000);
    }
    const { items } = await server.direct.list({ resource: 'pods' }, LIFE);
    for (const { metadata, status = {} } of items) {
      const own = statuses.get(metadata.uid)?.status;
      const expected = own ?? status;
      assert.deepEqual([status.phase, status.message], [expected.phase, expected.message]);
      assert.ok(!(metadata.deletionTimestamp && ended.has(metadata.uid)), 'a pod that has ended is still there');
    }
    await world.stop();
    assert.equal(clock.sleeping, 0);
  });
}
