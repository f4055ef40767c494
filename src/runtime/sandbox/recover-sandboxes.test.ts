import assert from 'node:assert/strict';
import { test } from 'node:test';
import { noNri } from '../nri/nri.ts';
import { recordToText } from '../store/record-text.ts';
import type { SandboxRecord } from '../store/sandbox-record.ts';
import { createSandboxWorld, NAMESPACES, podConfig, podWith, type SandboxWorld, signal } from './fake/sandbox-world.ts';
import { decideSandboxRecovery, type SandboxRecovery } from './recover-sandboxes.ts';

const READY: SandboxRecord = {
  id: 'a',
  config: podConfig(),
  runtimeHandler: '',
  createdAtNs: 1n,
  state: { phase: 'ready' },
  namespaces: { network: '/ns/net', ipc: '/ns/ipc', uts: '/ns/uts' },
  pause: false,
  ips: ['10.0.0.1'],
  networkResults: {},
  bootId: 'now',
};
const PINNED = ['/ns/net', '/ns/ipc', '/ns/uts'];

const recoveries: Record<string, { given: Partial<SandboxRecord>; pinned?: string[]; recovery: SandboxRecovery }> = {
  'adopts an unchanged sandbox': { given: {}, recovery: 'adopt' },
  'adopts a sandbox without its own namespaces': { given: { namespaces: {} }, pinned: [], recovery: 'adopt' },
  'loses a sandbox of another boot': { given: { bootId: 'before', namespaces: {} }, recovery: 'lost' },
  'loses a sandbox without one of its namespaces': { given: {}, pinned: ['/ns/net', '/ns/ipc'], recovery: 'lost' },
  'loses a sandbox without its user namespace': {
    given: { namespaces: { user: { path: '/ns/user', idMap: { uids: [], gids: [] } } } },
    recovery: 'lost',
  },
  'undoes an interrupted create': { given: { state: { phase: 'creating' } }, recovery: 'undoCreate' },
  'retries a failed undo': { given: { state: { phase: 'unknown', reason: 'x' } }, recovery: 'cleanUp' },
  'finishes an interrupted stop': {
    given: { state: { phase: 'notReady', networkDown: false, stopAsked: true } },
    recovery: 'cleanUp',
  },
  'keeps a sandbox whose pause process exited': {
    given: { state: { phase: 'notReady', networkDown: false } },
    recovery: 'keep',
  },
  'keeps a stopped sandbox': {
    given: { state: { phase: 'notReady', networkDown: true, stopAsked: true } },
    recovery: 'keep',
  },
};
for (const [name, { given, pinned = PINNED, recovery }] of Object.entries(recoveries)) {
  test(`decideSandboxRecovery() ${name}`, () => {
    assert.equal(decideSandboxRecovery({ ...READY, ...given }, new Set(pinned), 'now'), recovery);
  });
}

const run = (world: SandboxWorld, config = podConfig()): Promise<string> =>
  world.sandboxes.verbs.runPodSandbox({ config, runtimeHandler: '' }, signal).then(({ podSandboxId }) => podSandboxId);

const states = (world: SandboxWorld) => [...world.sandboxes.view.all.values()].map(({ state }) => state);

const remove = (world: SandboxWorld, podSandboxId: string) =>
  world.sandboxes.verbs.removePodSandbox({ podSandboxId }, signal);

for (const name of Object.keys(NAMESPACES) as (keyof typeof NAMESPACES)[]) {
  test(`a restart adopts a sandbox with ${name} namespaces, with its name and all its resources`, async () => {
    const world = await createSandboxWorld();
    const id = await run(world, podWith(name));
    const [before, record] = [await world.leftovers(), world.sandboxes.view.find(id)];
    await world.restart();
    assert.deepEqual([await world.leftovers(), world.sandboxes.view.find(id)], [before, record]);
    await assert.rejects(run(world), { code: 'AlreadyExists' });
    await remove(world, id);
    assert.deepEqual(await world.leftovers(), []);
  });

  test(`a reboot leaves a sandbox with ${name} namespaces as not ready, until it is stopped`, async () => {
    const world = await createSandboxWorld();
    const id = await run(world, podWith(name));
    await world.reboot();
    assert.deepEqual(states(world), [{ phase: 'notReady', networkDown: name === 'node' }]);
    await remove(world, id);
    assert.deepEqual(await world.leftovers(), []);
  });
}

test('a restart detects a pause process that exited in the meantime', async () => {
  const world = await createSandboxWorld();
  const id = await run(world, podWith('sharedProcesses'));
  const ended = world.oci.wait.bind(world.oci);
  world.oci.wait = async (_, limit) => ended({ id: 'unknown', bundle: '' }, limit);
  await world.restart();
  await world.host.clock.advance(0);
  assert.deepEqual(states(world), [{ phase: 'notReady', networkDown: false }]);
  await remove(world, id);
});

test('a restart removes a sandbox whose create was interrupted', async () => {
  const world = await createSandboxWorld();
  const stuck = Promise.withResolvers<void>();
  world.nri = { ...noNri, runPodSandbox: () => stuck.promise };
  void run(world, podWith('ownUsers'));
  await world.host.clock.advance(0);
  assert.equal((await world.leftovers()).length > 5, true);
  await world.restart();
  assert.deepEqual([await world.leftovers(), states(world)], [[], []]);
  world.nri = noNri;
  await run(world);
});

test('a restart retries a cleanup that fails', async () => {
  const world = await createSandboxWorld();
  world.nri = { ...noNri, runPodSandbox: () => new Promise(() => {}) };
  void run(world);
  await world.host.clock.advance(0);
  world.network.failNext('tearDown');
  await world.restart();
  assert.deepEqual(states(world), [{ phase: 'creating' }]);
  const { items } = await world.sandboxes.verbs.listPodSandbox({ filter: undefined }, signal);
  assert.deepEqual(items, []);
  await world.host.clock.advance(10_000);
  assert.deepEqual(await world.leftovers(), []);
});

test('a restart waits a limited time for a hanging plugin, and retries later', async () => {
  const world = await createSandboxWorld();
  world.nri = { ...noNri, runPodSandbox: () => new Promise(() => {}) };
  void run(world);
  await world.host.clock.advance(0);
  const tearDown = world.network.tearDown.bind(world.network);
  world.network.tearDown = (_, limit) =>
    new Promise((_resolve, reject) => limit.addEventListener('abort', () => reject(limit.reason)));
  const restart = world.restart();
  await world.host.clock.advance(30_000);
  await restart;
  assert.deepEqual(states(world), [{ phase: 'creating' }]);
  world.network.tearDown = tearDown;
  await world.host.clock.advance(10_000);
  assert.deepEqual(await world.leftovers(), []);
});

test('a restart finishes an interrupted stop without a new request', async () => {
  const world = await createSandboxWorld();
  const id = await run(world);
  world.nri = { ...noNri, stopPodSandbox: () => new Promise(() => {}) };
  void world.sandboxes.verbs.stopPodSandbox({ podSandboxId: id }, signal);
  await world.host.clock.advance(0);
  world.nri = noNri;
  await world.restart();
  assert.deepEqual(states(world), [{ phase: 'notReady', networkDown: false, stopAsked: true }]);
  await world.host.clock.advance(10_000);
  assert.deepEqual(states(world), [{ phase: 'notReady', networkDown: true, stopAsked: true }]);
  assert.deepEqual(world.containers.calls, [`stopAll ${id}`, `stopAll ${id}`]);
  assert.equal(world.network.held.size, 0);
});

test('a restart removes everything of a sandbox whose record is damaged', async () => {
  const world = await createSandboxWorld();
  const id = await run(world, podWith('sharedProcesses'));
  await world.host.fs.writeFile(`${world.paths.sandboxRecords}/${id}.json`, '{"id":');
  world.network.failNext('tearDown');
  await world.restart();
  assert.notDeepEqual(await world.leftovers(), []);
  await world.host.clock.advance(10_000);
  assert.deepEqual(await world.leftovers(), []);
});

test('a restart removes directories, mounts and namespaces without a record', async () => {
  const world = await createSandboxWorld();
  const [kept, lost] = [await run(world), await run(world, podConfig({ metadata: { name: 'other' } }))];
  await world.host.fs.remove(`${world.paths.sandboxRecords}/${lost}.json`);
  await world.restart();
  await world.host.clock.advance(0);
  assert.deepEqual(
    (await world.leftovers()).filter((each) => each.includes(lost)),
    [],
  );
  assert.deepEqual(world.network.collected.at(-1), new Set([kept]));
});

test('a record of an older version is read with the defaults of new fields', async () => {
  const world = await createSandboxWorld();
  const id = await run(world);
  const path = `${world.paths.sandboxRecords}/${id}.json`;
  const { bootId: _, networkResults: __, config, ...old } = world.sandboxes.view.find(id) ?? READY;
  const { annotations: ___, ...oldConfig } = config;
  await world.host.fs.writeFile(path, recordToText({ ...old, config: oldConfig }));
  await world.restart();
  assert.deepEqual(world.sandboxes.view.find(id), { ...old, config, networkResults: {} });
});
