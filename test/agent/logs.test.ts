/** Log rotation with the whole agent on virtual time. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { CriError } from '../../src/cri/cri-error.ts';
import { createFakeRuntime, type FakeRuntime } from '../../src/cri/fake/fake-runtime.ts';
import type { Cri } from '../../src/cri/services.ts';
import { createMemoryHost } from '../../src/host/fake/memory-host.ts';
import { SeededRandom } from '../../src/host/fake/seeded-random.ts';
import type { FileSystem } from '../../src/host/file-system.ts';
import { WrittenLog } from '../../src/kubelet/logs/written-log.fixture.ts';
import { podOf, startAgent } from './memory-agent.ts';

const LOG = '/var/log/pods/default_web_uid-web/main/0.log';
const FOLDER = '/var/log/pods/default_web_uid-web/main';
/** The error of a caller whose response is lost. */
const LOST = 'error reading from server: EOF';
const containerLogs = { maxBytes: 10_000, maxFiles: 60, maxWorkers: 1, monitorIntervalMs: 10_000 };

/** Adds ReopenContainerLog: the fake runtime creates the log only at container start. */
function openingLogs(runtime: FakeRuntime, fs: FileSystem): FakeRuntime {
  const { cri } = runtime;
  const reopenContainerLog: Cri['runtime']['reopenContainerLog'] = async (request, signal) => {
    let isOpened = true;
    try {
      return await cri.runtime.reopenContainerLog(request, signal);
    } catch (error) {
      isOpened = error instanceof CriError && error.message === LOST;
      throw error;
    } finally {
      if (isOpened) await fs.appendFile(LOG, '');
    }
  };
  return { ...runtime, cri: { ...cri, runtime: { ...cri.runtime, reopenContainerLog } } };
}

function newWorld(seed = 1) {
  const host = createMemoryHost({ seed });
  const { clock, random, fs } = host;
  const runtime = openingLogs(createFakeRuntime({ clock, random, fs }), fs);
  runtime.addImage('busybox:1');
  /** The first file exists from container start; the next one once the runtime has reopened the log. */
  const log = new WrittenLog(fs, LOG);
  const write = async (lines: number): Promise<void> => {
    if (await fs.stat(LOG)) await log.open();
    await log.writeLines(lines);
  };
  const names = async () => (await fs.readDirectory(FOLDER)).map(({ name }) => name);
  return { host, runtime, log, write, names };
}

/** Every written line, in order. */
const upTo = (count: number): string[] => Array.from({ length: count }, (_, index) => `line ${index}`);

test('the log of a running container is rotated; that of an exited one is not', async () => {
  const world = newWorld();
  const { host, runtime, log, write, names } = world;
  await using it = await startAgent(world, { containerLogs });
  it.source.set(podOf('web', { restartPolicy: 'Never' }));
  await host.clock.advance(2_000);
  await write(400);
  await host.clock.advance(10_000);
  await write(400);
  await host.clock.advance(10_000);
  assert.equal((await names()).length, 3);
  assert.deepEqual(await log.kept(), upTo(800));
  const [container] = runtime.containers.values();
  runtime.exitContainer(container?.id ?? '', { exitCode: 0 });
  await write(400);
  await host.clock.advance(60_000);
  assert.equal((await names()).length, 3);
});

test('a negative size turns rotation off, without calls to the runtime', async () => {
  const world = newWorld();
  const { host, runtime, write, names } = world;
  runtime.failures.everyCall((method) => {
    assert.notEqual(method, 'reopenContainerLog');
    return undefined;
  });
  await using it = await startAgent(world, { containerLogs: { ...containerLogs, maxBytes: -1 } });
  it.source.set(podOf('web'));
  await host.clock.advance(2_000);
  await write(400);
  await host.clock.advance(60_000);
  assert.deepEqual(await names(), ['0.log']);
});

/** The fault of one round, drawn from a seed. */
const MISFORTUNES = ['none', 'reopenFails', 'answerLost', 'diskFull', 'renameFails', 'agentDies'] as const;

for (const seed of Array.from({ length: 20 }, (_, index) => index + 1)) {
  test(`no line is lost or duplicated through any fault (seed ${seed})`, async () => {
    const world = newWorld(seed);
    const { host, runtime, log, write, names } = world;
    const { fs, clock } = host;
    const random = new SeededRandom(seed);
    const draw = (below: number): number => Math.floor(random.fraction() * below);
    let it = await startAgent(world, { containerLogs });
    it.source.set(podOf('web'));
    await clock.advance(2_000);
    for (let round = 0; round < 25; round++) {
      await write(draw(800));
      const misfortune = MISFORTUNES[draw(MISFORTUNES.length)];
      const error = new CriError('Unavailable', 'away');
      if (misfortune === 'reopenFails') runtime.failures.next('reopenContainerLog', { kind: 'before', error });
      const lost = new CriError('Unavailable', LOST);
      if (misfortune === 'answerLost') runtime.failures.next('reopenContainerLog', { kind: 'after', error: lost });
      if (misfortune === 'diskFull') fs.errors.failNext('compressFile', 'ENOSPC');
      if (misfortune === 'renameFails') fs.errors.failNext('renameUnlessTaken', 'EIO');
      await clock.advance(draw(15_000));
      if (misfortune === 'agentDies') {
        await it.stop();
        it = await startAgent(world, { containerLogs });
        it.source.set(podOf('web'));
      }
      assert.deepEqual(await log.kept(), upTo(log.lines), `after round ${round}`);
    }
    for (let round = 0; round < 3; round++) {
      await write(400);
      await clock.advance(30_000);
    }
    await it.stop();
    assert.deepEqual(await log.kept(), upTo(log.lines));
    assert.deepEqual(
      (await names()).filter((name) => name.endsWith('.tmp')),
      [],
    );
  });
}
