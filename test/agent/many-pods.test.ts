/** Many pods at once: the cost per pod is independent of their number, and nothing fails. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Pod } from '../../src/api/generated/core-v1.ts';
import { silentLog } from '../../src/base/log.ts';
import type { MemoryFileSystem } from '../../src/host/fake/memory-file-system.ts';
import {
  createPod,
  FOREVER,
  type MemoryAgent,
  newClusterWorld,
  newWorld,
  podKey,
  podOf,
  SETTINGS,
  startAgent,
  type World,
} from './memory-agent.ts';

const CONTAINER_LOGS = '/var/log/containers';
/** Independent of the number of pods, so that the periodic work happens equally often. */
const PERIOD_MS = 50_000;
const SPEC: Partial<Pod['spec']> = {
  containers: ['main', 'side'].map((name) => ({
    name,
    image: 'busybox:1',
    volumeMounts: [{ name: 'scratch', mountPath: '/scratch' }],
  })),
  volumes: [{ name: 'scratch', emptyDir: { medium: 'Memory' } }],
};

/** Calls to the file system, and directory entries read by them. */
interface Cost {
  operations: number;
  entries: number;
}

/** The cost per pod from its first snapshot until all its resources are removed. */
interface Measure {
  readonly start: Cost;
  readonly end: Cost;
  readonly errors: readonly unknown[];
  readonly left: readonly string[];
}

/** The same file system with counted operations. */
function counted(fs: MemoryFileSystem, cost: Cost): MemoryFileSystem {
  return new Proxy(fs, {
    get(target, name) {
      const value: unknown = Reflect.get(target, name);
      if (typeof value !== 'function') return value;
      return (...args: unknown[]): unknown => {
        cost.operations += 1;
        const answer: unknown = Reflect.apply(value, target, args);
        if (name !== 'readDirectory') return answer;
        return Promise.resolve(answer as ReturnType<MemoryFileSystem['readDirectory']>).then((entries) => {
          cost.entries += entries.length;
          return entries;
        });
      };
    },
  });
}

interface Way {
  world(): Promise<World>;
  add(it: MemoryAgent, world: World, names: readonly string[]): Promise<void>;
  removeAll(it: MemoryAgent, world: World, names: readonly string[]): Promise<void>;
}

async function measure(way: Way, count: number): Promise<Measure> {
  const world = await way.world();
  await world.host.fs.makeDirectory('/var/lib/fake-runtime'); // the image filesystem that the runtime reports
  const cost = { operations: 0, entries: 0 };
  const errors: unknown[] = [];
  const log = { ...silentLog, error: (message: string, fields?: object) => errors.push({ message, ...fields }) };
  const host = { ...world.host, fs: counted(world.host.fs, cost) };
  const settings = { maxPods: 250, containerLogsDir: CONTAINER_LOGS, podLogsDir: '/var/log/pods' };
  const it = await startAgent({ ...world, host }, settings, log);
  const names = Array.from({ length: count }, (_, index) => `pod-${index}`);

  const spent = async (work: () => Promise<void>): Promise<Cost> => {
    const before = { ...cost };
    await work();
    return { operations: cost.operations - before.operations, entries: cost.entries - before.entries };
  };
  const start = await spent(async () => {
    await way.add(it, world, names);
    await host.clock.advance(30_000);
  });
  assert.equal((await world.host.fs.readDirectory(CONTAINER_LOGS)).length, 2 * count);
  const end = await spent(async () => {
    await way.removeAll(it, world, names);
    await host.clock.advance(20_000);
  });
  assert.equal(it.agent.pods().length, 0);
  assert.equal(it.runtime.sandboxes.size, 0);
  const folders = [CONTAINER_LOGS, '/var/log/pods', `${SETTINGS.rootDir}/pods`];
  const left = await Promise.all(
    folders.map(async (path) => (await world.host.fs.readDirectory(path)).map(({ name }) => `${path}/${name}`)),
  );
  await it.stop();
  return { start, end, errors, left: left.flat() };
}

const ways: Record<string, Way> = {
  'manifests, all at once': {
    world: async () => newWorld(),
    add: async (it, _, names) => it.source.set(...names.map((name) => podOf(name, SPEC))),
    removeAll: async (it) => it.source.set(),
  },
  'the API server, one after another': {
    world: newClusterWorld,
    async add(it, world, names) {
      it.source.set();
      for (const name of names) {
        await createPod(world as Required<World>, podOf(name, SPEC));
        await it.host.clock.advance(PERIOD_MS / names.length);
      }
    },
    async removeAll(it, world, names) {
      for (const name of names) {
        await (world as Required<World>).apiServer.direct.delete(podKey(name), { graceSeconds: 0 }, FOREVER);
        await it.host.clock.advance(PERIOD_MS / names.length);
      }
    },
  },
};

for (const [name, way] of Object.entries(ways)) {
  test(`200 pods of ${name}: each costs as much as one of 20, and nothing fails`, async () => {
    const [few, many] = [await measure(way, 20), await measure(way, 200)];
    for (const { errors, left } of [few, many]) assert.deepEqual({ errors, left }, { errors: [], left: [] });
    for (const phase of ['start', 'end'] as const) {
      for (const what of ['operations', 'entries'] as const) {
        const [ofFew, ofMany] = [few[phase][what] / 20, many[phase][what] / 200];
        assert.ok(
          ofMany <= ofFew * 1.1 + 1,
          `${what} for each pod at its ${phase}: ${ofFew} with 20, ${ofMany} with 200`,
        );
      }
    }
  });
}
