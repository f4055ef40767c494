/** Garbage collection removes unused resources only; the whole agent on virtual time. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Pod } from '../../src/api/generated/core-v1.ts';
import { CriError } from '../../src/cri/cri-error.ts';
import type { CriMethod } from '../../src/cri/services.ts';
import { type MemoryAgent, newWorld, podOf, startAgent } from './memory-agent.ts';

const FOREVER = new AbortController().signal;
const SIMULATED = new CriError('Unknown', 'simulated');
const LOGS = '/var/log/pods/default_web_uid-web/main';
const LINKS = '/var/log/containers';
const MESSAGES = '/var/lib/kubelet/pods/uid-web/containers/main';

/** `main/3 exited`, oldest first. */
function containersOf({ runtime }: Pick<MemoryAgent, 'runtime'>): string[] {
  return [...runtime.containers.values()].map(
    ({ config, state: phase }) => `${config.metadata?.name}/${config.metadata?.attempt} ${phase.phase}`,
  );
}

function sandboxesOf({ runtime }: MemoryAgent): string[] {
  return [...runtime.sandboxes.values()].map(({ config, state }) => `${config.metadata?.attempt} ${state}`);
}

async function namesIn({ host }: MemoryAgent, folder: string): Promise<string[]> {
  if (!(await host.fs.stat(folder))) return [];
  return (await host.fs.readDirectory(folder)).map(({ name }) => name);
}

/** The fake runtime writes no logs. */
async function writeLogs({ host }: MemoryAgent, attempt: number): Promise<void> {
  for (const name of [`${attempt}.log`, `${attempt}.log.20260101-000000.gz`]) {
    await host.fs.writeFile(`${LOGS}/${name}`, '');
  }
}

function crashing(spec: Partial<Pod['spec']> = {}): Pod {
  return podOf('web', spec);
}

test('of a container that keeps crashing only the last dead one is kept', async () => {
  await using it = await startAgent();
  it.runtime.behaviours.set('main', { exits: { afterMs: 1000, code: 1 } });
  it.source.set(crashing());
  await it.host.clock.advance(1500); // the second container runs
  assert.deepEqual(containersOf(it), ['main/0 exited', 'main/1 running']);
  await it.host.clock.advance(1000); // the second container has exited too
  assert.deepEqual(containersOf(it), ['main/1 exited']);
  await it.host.clock.advance(3_600_000);
  assert.ok(it.runtime.containers.size <= 2);
});

test('a container is removed with its logs, rotated logs, symlink and termination message', async () => {
  await using it = await startAgent(newWorld(), { containerLogsDir: LINKS });
  it.runtime.behaviours.set('main', { exits: { afterMs: 1000, code: 1 } });
  it.source.set(crashing());
  await it.host.clock.advance(500);
  await writeLogs(it, 0);
  const first = await namesIn(it, MESSAGES);
  await it.host.clock.advance(1000);
  await writeLogs(it, 1);
  await writeLogs(it, 10); // of no container: `1.log` does not exist
  assert.equal((await namesIn(it, LINKS)).length, 2);
  await it.host.clock.advance(1000);
  const [left] = it.runtime.containers.keys();
  assert.deepEqual(await namesIn(it, LOGS), [
    '1.log',
    '1.log.20260101-000000.gz',
    '10.log',
    '10.log.20260101-000000.gz',
  ]);
  assert.deepEqual(await namesIn(it, LINKS), [`web_default_main-${left}.log`]);
  const messages = await namesIn(it, MESSAGES);
  assert.equal(messages.length, 1);
  assert.notDeepEqual(messages, first);
});

test('a user file in place of the termination message is not removed', async () => {
  await using it = await startAgent();
  await it.host.fs.makeDirectory('/data');
  await it.host.fs.writeFile('/data/message', 'mine');
  it.runtime.behaviours.set('main', { exits: { afterMs: 1000, code: 1 } });
  const terminationMessagePath = '/message';
  const volumeMounts = [{ name: 'mine', mountPath: terminationMessagePath }];
  const volumes = [{ name: 'mine', hostPath: { path: '/data/message' } }];
  it.source.set(
    crashing({ containers: [{ name: 'main', image: 'busybox:1', terminationMessagePath, volumeMounts }], volumes }),
  );
  await it.host.clock.advance(2500);
  assert.deepEqual(containersOf(it), ['main/1 exited']);
  assert.equal(await it.host.fs.readText('/data/message'), 'mine');
});

test('a failed removal affects nothing else and is retried in the next minute', async () => {
  await using it = await startAgent();
  it.runtime.behaviours.set('main', { exits: { afterMs: 1000, code: 1 } });
  it.runtime.failures.next('removeContainer', { kind: 'before', error: SIMULATED });
  it.source.set(crashing());
  await it.host.clock.advance(2500);
  assert.deepEqual(containersOf(it), ['main/0 exited', 'main/1 exited']);
  await it.host.clock.advance(59_000);
  assert.ok(!containersOf(it).includes('main/0 exited'));
});

test('dead containers left by a previous agent are removed within a minute', async () => {
  const world = newWorld();
  world.runtime.behaviours.set('main', { exits: { afterMs: 1000, code: 1 } });
  const failing = (method: CriMethod) =>
    method === 'removeContainer' ? ({ kind: 'before', error: SIMULATED } as const) : undefined;
  world.runtime.failures.everyCall(failing);
  const before = await startAgent(world);
  before.source.set(crashing());
  await before.host.clock.advance(60_000);
  assert.equal(containersOf(before).length, 4);
  await before.stop();
  world.runtime.failures.everyCall(() => undefined);
  await using it = await startAgent(world);
  it.source.set(crashing());
  await it.host.clock.advance(61_000);
  assert.ok(containersOf(it).length <= 2);
});

test('completed init containers are kept, so that none of them runs again', async () => {
  await using it = await startAgent(newWorld(), {
    deadContainers: { minimumAgeMs: 0, maxPerContainer: 0, maxTotal: 0 },
  });
  it.runtime.behaviours.set('init', { exits: { afterMs: 1000, code: 0 } });
  it.runtime.behaviours.set('main', { exits: { afterMs: 1000, code: 1 } });
  it.source.set(crashing({ initContainers: [{ name: 'init', image: 'busybox:1' }] }));
  await it.host.clock.advance(3_600_000);
  const [init, ...main] = containersOf(it);
  assert.equal(init, 'init/0 exited');
  assert.equal(main.length, 1);
});

test('the node-wide limit removes dead containers of terminated pods, oldest first', async () => {
  await using it = await startAgent(newWorld(), {
    deadContainers: { minimumAgeMs: 0, maxPerContainer: 1, maxTotal: 1 },
  });
  it.runtime.behaviours.set('main', { exits: { afterMs: 1000, code: 0 } });
  const jobs = ['a', 'b', 'c'].map((name) => podOf(name, { restartPolicy: 'Never' }));
  for (const [index] of jobs.entries()) {
    it.source.set(...jobs.slice(0, index + 1));
    await it.host.clock.advance(5000);
  }
  assert.equal(it.runtime.containers.size, 3);
  await it.host.clock.advance(60_000);
  const uids = [...it.runtime.containers.values()].map(({ config }) => config.labels['io.kubernetes.pod.name']);
  assert.deepEqual(uids, ['c']);
  const phases = it.agent.pods().map(({ status }) => status.phase);
  assert.deepEqual(phases, ['Succeeded', 'Succeeded', 'Succeeded']);
});

test('a previous sandbox is removed with its last container', async () => {
  await using it = await startAgent();
  it.source.set(podOf('web'));
  await it.host.clock.advance(1000);
  const [first] = it.runtime.sandboxes.keys();
  it.runtime.loseSandbox(first ?? '');
  await it.host.clock.advance(61_000);
  // The previous container was in it.
  assert.deepEqual(containersOf(it), ['main/0 exited', 'main/1 running']);
  assert.deepEqual(sandboxesOf(it), ['0 notReady', '1 ready']);
  const [, second] = it.runtime.containers.keys();
  it.runtime.exitContainer(second ?? '', { exitCode: 1 });
  await it.host.clock.advance(61_000);
  assert.deepEqual(sandboxesOf(it), ['1 ready']);
  assert.equal(it.agent.pods()[0]?.status.phase, 'Running');
});

test('log symlinks without a target are removed, except those of live containers', async () => {
  await using it = await startAgent(newWorld(), { containerLogsDir: LINKS });
  it.source.set(podOf('web'));
  await it.host.clock.advance(1000);
  const [id] = it.runtime.containers.keys();
  for (const name of ['old_default_main-0123456789.log', 'strange.log']) {
    await it.host.fs.symbolicLink('/var/log/pods/gone/0.log', `${LINKS}/${name}`);
  }
  await it.host.fs.writeFile(`${LINKS}/file-0123456789.log`, '');
  await it.host.clock.advance(60_000);
  assert.deepEqual(await namesIn(it, LINKS), ['file-0123456789.log', `web_default_main-${id}.log`]);
});

test('a terminating pod is left to its worker', async () => {
  await using it = await startAgent();
  it.runtime.behaviours.set('main', { exits: { afterMs: 1000, code: 1 } });
  it.runtime.failures.everyCall((method) =>
    method === 'removeContainer' ? { kind: 'before', error: SIMULATED } : undefined,
  );
  it.source.set(crashing());
  await it.host.clock.advance(2500);
  assert.equal(containersOf(it).length, 2);
  it.source.set();
  let removals = 0;
  it.runtime.failures.everyCall((method) => {
    if (method === 'removeContainer') removals++;
    return undefined;
  });
  await it.host.clock.advance(60_000);
  assert.deepEqual([it.runtime.containers.size, removals], [0, 2]);
});

test('when the disk is full unused images are removed, and pods keep running', async () => {
  const world = newWorld();
  await world.host.fs.makeDirectory('/var/lib/fake-runtime');
  world.host.fs.setUsage('/var/lib/fake-runtime', {
    capacityBytes: 100 * 2 ** 20,
    availableBytes: 10 * 2 ** 20,
    inodes: 1,
    inodesFree: 1,
  });
  for (const name of ['unused:1', 'kept:1']) world.runtime.addImage(name);
  await using it = await startAgent(world, { keptImages: ['kept:1'] });
  it.source.set(podOf('web'));
  await it.host.clock.advance(301_000);
  const { images } = await world.runtime.cri.images.listImages({ filter: undefined }, FOREVER);
  assert.deepEqual(
    images.flatMap(({ repoTags }) => repoTags),
    ['docker.io/library/busybox:1', 'docker.io/library/kept:1'],
  );
  assert.deepEqual(containersOf(it), ['main/0 running']);
});
