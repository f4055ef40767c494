/** The source converges to the server's pods after any errors. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { silentLog } from '../../base/log.ts';
import { SeededRandom } from '../../host/fake/seeded-random.ts';
import { VirtualClock } from '../../host/fake/virtual-clock.ts';
import { ApiError } from '../api-client/api-server.ts';
import { withApiTimeouts } from '../api-client/api-timeouts.ts';
import type { ApiFault } from '../api-client/fake/api-faults.ts';
import { createMemoryApiServer, type MemoryApiServer } from '../api-client/fake/memory-api-server.ts';
import { createApiSource } from './api-source.ts';
import type { SourceSnapshot } from './pod-source.ts';

const LIFE = new AbortController().signal;
const SEEDS = 40;
const STEPS = 60;

const faults: readonly (ApiFault | undefined)[] = [
  undefined,
  undefined,
  { kind: 'before', error: new ApiError('Unavailable', 'connection refused') },
  { kind: 'before', error: new ApiError('Expired', 'too old resource version') },
  { kind: 'before', error: new ApiError('InternalError', 'confused') },
  { kind: 'after', error: new ApiError('Unavailable', 'connection reset') },
  { kind: 'delay', ms: 3000 },
  { kind: 'hang' },
];

/** One random action: on a pod, on the watches, or on the connection. */
async function step(server: MemoryApiServer, random: SeededRandom): Promise<void> {
  const name = random.pick(['a', 'b', 'c']) ?? 'a';
  const key = { resource: 'pods', namespace: 'default', name } as const;
  const pod = {
    metadata: { name, namespace: 'default', uid: '' },
    spec: { nodeName: 'box', containers: [{ name: 'main', image: 'busybox' }] },
  };
  const happenings = [
    () => server.direct.create(key, pod, LIFE),
    () => server.direct.delete(key, { graceSeconds: 0 }, LIFE),
    () => server.direct.patch(key, { metadata: { labels: { n: String(random.fraction()) } } }, {}, LIFE),
    async () => server.closeWatches(),
    async () => server.closeWatches(new ApiError('Unavailable', 'connection reset')),
    async () => server.sendBookmark(),
    async () => server.compact(),
    async () => server.faults.setOutage(true),
    async () => server.faults.setOutage(false),
  ];
  await random
    .pick(happenings)?.()
    .catch(() => undefined);
}

for (let seed = 1; seed <= SEEDS; seed++) {
  test(`the source converges after errors (seed ${seed})`, async () => {
    const clock = new VirtualClock();
    const random = new SeededRandom(seed);
    const server = createMemoryApiServer({ clock, random: new SeededRandom(seed) });
    const api = withApiTimeouts(server, { clock, random });
    const source = createApiSource({ nodeName: 'box' }, { api, clock, random, log: silentLog });
    const life = new AbortController();
    let last: SourceSnapshot | undefined;
    const following = (async () => {
      for await (const snapshot of source.snapshots(life.signal)) last = snapshot;
    })();

    server.faults.everyCall(() => random.pick(faults));
    for (let count = 0; count < STEPS; count++) {
      await step(server, random);
      await clock.advance(random.pick([0, 0, 10, 2000, 30_000]) ?? 0);
    }
    server.faults.setOutage(false);
    server.faults.everyCall(() => undefined);
    server.closeWatches();
    await clock.advance(700_000); // longer than a hung watch and any pause

    const { items } = await server.direct.list({ resource: 'pods' }, LIFE);
    const versions = (pods: SourceSnapshot['pods'] = []) =>
      pods.map(({ metadata }) => `${metadata.name} ${metadata.uid} ${metadata.resourceVersion}`).toSorted();
    assert.deepEqual(versions(last?.pods), versions(items));
    assert.equal(server.watches, 1);
    life.abort();
    await clock.advance(0);
    await following;
    assert.deepEqual([server.watches, clock.sleeping], [0, 0]);
  });
}
