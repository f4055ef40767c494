import assert from 'node:assert/strict';
import { test } from 'node:test';
import { silentLog } from '../../base/log.ts';
import { CriError } from '../../cri/cri-error.ts';
import { createMemoryHost } from '../../host/fake/memory-host.ts';
import type { FileSystem } from '../../host/file-system.ts';
import { observedContainer } from '../pod/observed-container.fixture.ts';
import type { ObservedContainerState, ObservedPod } from '../pod/observed-pod.ts';
import { LogRotation } from './log-rotation.ts';
import type { LogRotationPolicy } from './rotation-plan.ts';
import { WrittenLog } from './written-log.fixture.ts';

const POLICY: LogRotationPolicy = { maxBytes: 1000, maxFiles: 50, maxWorkers: 1, monitorIntervalMs: 10_000 };
/** Above the size limit. */
const MANY = 40;

const STATES: Record<'running' | 'exited', ObservedContainerState> = {
  running: { state: 'running', startedAt: 1n },
  exited: { state: 'exited', startedAt: 1n, finishedAt: 2n, exitCode: 0, reason: 'Completed', message: '' },
};

/** Logging containers on a virtual clock, and processes that rotate their logs. */
async function setUp(names: readonly string[] = ['web']) {
  const { fs, clock } = createMemoryHost();
  const all = new Map<string, ObservedPod>();
  const logs = new Map(names.map((name) => [name, new WrittenLog(fs, `/logs/${name}/0.log`)]));
  for (const log of logs.values()) await log.open();
  const warnings: string[] = [];
  let onReopen = async (_name: string): Promise<void> => {};
  let notify: (uid: string) => void = () => {};

  const set = (name: string, state: 'running' | 'exited' | 'gone'): void => {
    const containers =
      state === 'gone' ? [] : [observedContainer(name, STATES[state], { id: name, logPath: logOf(name).path })];
    all.set(name, { uid: name, name, namespace: 'default', sandboxes: [], containers, inspectedAt: 0 });
    notify(name);
  };
  const logOf = (name: string): WrittenLog => {
    const log = logs.get(name);
    assert.ok(log);
    return log;
  };
  for (const name of names) set(name, 'running');

  const start = (policy: Partial<LogRotationPolicy> = {}, ownFs: FileSystem = fs) => {
    const life = new AbortController();
    const rotation = new LogRotation({
      fs: ownFs,
      clock,
      runtime: {
        async reopenContainerLog({ containerId }) {
          await onReopen(containerId);
          await logOf(containerId).open();
          return {};
        },
      },
      log: { ...silentLog, warn: (_, fields) => void warnings.push(String(fields?.['error'])) },
      observed: { all },
      policy: { ...POLICY, ...policy },
    });
    notify = (uid) => rotation.onPodObserved(uid);
    const done = rotation.run(life.signal);
    const stop = async (): Promise<void> => {
      life.abort(new Error('stopped'));
      await clock.runUntil(done);
    };
    return { life, stop };
  };
  const files = async (name = 'web') => (await fs.readDirectory(`/logs/${name}`)).map((each) => each.name);
  const reopens = (work: (name: string) => Promise<void>): void => {
    onReopen = work;
  };
  return { fs, clock, set, logOf, start, files, warnings, reopens };
}

/** All written lines in order. */
const upTo = (count: number): string[] => Array.from({ length: count }, (_, index) => `line ${index}`);

test('LogRotation rotates a full log, compresses the previous one, and loses no line', async () => {
  const { clock, logOf, start, files } = await setUp();
  const { stop } = start();
  for (let round = 0; round < 3; round++) {
    await logOf('web').writeLines(MANY);
    await clock.advance(10_000);
  }
  await stop();
  assert.deepEqual(await files(), [
    '0.log',
    '0.log.20260101-000001.gz',
    '0.log.20260101-000013.gz',
    '0.log.20260101-000025',
  ]);
  assert.deepEqual(await logOf('web').kept(), upTo(3 * MANY));
});

test('LogRotation does not rotate a log below its limit, nor any when it is disabled', async () => {
  const { clock, logOf, start, files } = await setUp();
  const small = start();
  await logOf('web').writeLines(3);
  await clock.advance(60_000);
  await small.stop();
  const off = start({ maxBytes: -1 });
  await logOf('web').writeLines(MANY);
  await clock.advance(60_000);
  await off.stop();
  assert.deepEqual(await files(), ['0.log']);
});

test('LogRotation keeps at most maxFiles files', async () => {
  const { clock, logOf, start, files } = await setUp();
  const { stop } = start({ maxFiles: 3 });
  for (let round = 0; round < 6; round++) {
    await logOf('web').writeLines(MANY);
    await clock.advance(10_000);
    assert.ok((await files()).length <= 3);
  }
  await stop();
  assert.deepEqual(await logOf('web').kept(), upTo(6 * MANY).slice(-2 * MANY));
});

test('LogRotation checks a new container at once, and stops when it exits', async () => {
  const { clock, logOf, set, start, files } = await setUp();
  set('web', 'gone');
  const { stop } = start();
  await clock.advance(5000);
  await logOf('web').writeLines(MANY);
  set('web', 'running');
  await clock.advance(0);
  assert.equal((await files()).length, 2);
  set('web', 'exited');
  await logOf('web').writeLines(MANY);
  await clock.advance(60_000);
  assert.equal((await files()).length, 2);
  await stop();
});

test('LogRotation checks a growing log again when it will be full', async () => {
  const { clock, logOf, start, files } = await setUp();
  const { stop } = start({ maxBytes: 100_000, monitorIntervalMs: 60_000 });
  await clock.advance(0);
  const grown: number[] = [];
  for (let second = 1; second < 20 && (await files()).length === 1; second++) {
    await logOf('web').writeLines(400);
    await clock.advance(1000);
    grown.push(second);
  }
  await stop();
  assert.deepEqual(grown, [1, 2, 3, 4, 5, 6]);
});

test('LogRotation rotates at most maxWorkers logs at once, each in turn', async () => {
  const names = ['a', 'b', 'c', 'd'];
  const { clock, logOf, start, files, reopens } = await setUp(names);
  for (const name of names) await logOf(name).writeLines(MANY);
  let now = 0;
  let most = 0;
  reopens(async () => {
    most = Math.max(most, ++now);
    await clock.sleep(3000, new AbortController().signal);
    now--;
  });
  const { stop } = start({ maxWorkers: 2 });
  await clock.advance(20_000);
  await stop();
  assert.equal(most, 2);
  for (const name of names) assert.equal((await files(name)).length, 2);
});

const failures: Record<string, { fail: (world: Awaited<ReturnType<typeof setUp>>) => void; warning: RegExp }> = {
  'the runtime does not open a new log': {
    fail: ({ reopens }) => {
      let first = true;
      reopens(async () => {
        if (!first) return;
        first = false;
        throw new CriError('Unavailable', 'away');
      });
    },
    warning: /away/,
  },
  'the runtime opens a new log but its answer is lost': {
    fail: ({ reopens, logOf }) => {
      let first = true;
      reopens(async () => {
        if (!first) return;
        first = false;
        await logOf('web').open();
        await logOf('web').writeLines(1);
        throw new CriError('DeadlineExceeded', 'late');
      });
    },
    warning: /late/,
  },
  'the log cannot be renamed': {
    fail: ({ fs }) => fs.errors.failNext('renameUnlessTaken', 'EIO'),
    warning: /EIO/,
  },
  'the directory cannot be read': { fail: ({ fs }) => fs.errors.failNext('readDirectory', 'EIO'), warning: /EIO/ },
  'the disk is full': { fail: ({ fs }) => fs.errors.failNext('compressFile', 'ENOSPC'), warning: /ENOSPC/ },
  'the compressed log cannot get its name': { fail: ({ fs }) => fs.errors.failNext('rename', 'EIO'), warning: /EIO/ },
  'a compressed log cannot be removed': { fail: ({ fs }) => fs.errors.failNext('remove', 'EIO'), warning: /EIO/ },
};

for (const [name, { fail, warning }] of Object.entries(failures)) {
  test(`LogRotation logs when ${name}, loses nothing, and retries`, async () => {
    const world = await setUp();
    const { clock, logOf, start, warnings, files } = world;
    const { stop } = start();
    await logOf('web').writeLines(MANY);
    await clock.advance(10_000);
    for (let round = 0; round < 4; round++) {
      await logOf('web').writeLines(MANY);
      if (round === 0) fail(world);
      await clock.advance(11_000);
      assert.ok((await files()).includes('0.log'), 'the log has its name');
    }
    await stop();
    assert.match(warnings.join(), warning);
    assert.deepEqual(await logOf('web').kept(), upTo(logOf('web').lines));
    assert.deepEqual(
      (await files()).filter((file) => file.endsWith('.tmp')),
      [],
    );
  });
}

test('LogRotation rotates on a full disk without compression, and compresses when there is space', async () => {
  const { fs, clock, logOf, start, files, warnings, reopens } = await setUp();
  const { stop } = start({ maxFiles: 6 });
  reopens(async () => {
    fs.isFull = false; // the file that the runtime opens is empty
    queueMicrotask(() => {
      fs.isFull = warnings.length < 3;
    });
  });
  for (let round = 0; round < 8; round++) {
    fs.isFull = false;
    await logOf('web').writeLines(MANY);
    fs.isFull = round < 4;
    await clock.advance(11_000);
    assert.ok((await files()).length <= 6);
  }
  await stop();
  assert.ok(warnings.some((warning) => warning.includes('ENOSPC')));
  assert.equal((await files()).filter((name) => name.endsWith('.gz')).length, 4);
});

/** The file system of a process that is killed at its n-th change: later calls have no effect. */
function killedAt(fs: FileSystem, change: number, onKill: () => void): FileSystem {
  const changes = new Set(['remove', 'rename', 'renameUnlessTaken', 'compressFile']);
  let left = change;
  return new Proxy(fs, {
    get(target, name: keyof FileSystem) {
      const method = target[name];
      if (typeof method !== 'function') return method;
      return (...args: never[]) => {
        if (left <= 0 || (changes.has(name) && --left <= 0)) {
          onKill();
          return new Promise(() => {});
        }
        return Reflect.apply(method, target, args);
      };
    },
  });
}

test('LogRotation loses and duplicates no line when killed anywhere, and the next process cleans up', async () => {
  for (let change = 1, killed = true; killed; change++) {
    killed = false;
    const { fs, clock, logOf, start, files } = await setUp();
    const onKill = (): void => {
      killed = true;
    };
    const first = start({}, killedAt(fs, change, onKill));
    for (let round = 0; round < 3; round++) {
      await logOf('web').writeLines(MANY);
      await clock.advance(10_000);
      assert.deepEqual(await logOf('web').kept(), upTo(logOf('web').lines), `at change ${change}`);
    }
    first.life.abort(new Error('killed'));
    const { stop } = start();
    for (let round = 0; round < 3; round++) {
      await logOf('web').writeLines(MANY);
      await clock.advance(10_000);
    }
    await stop();
    assert.deepEqual(await logOf('web').kept(), upTo(6 * MANY), `after change ${change}`);
    const plain = (await files()).filter((name) => !name.endsWith('.gz'));
    assert.deepEqual(plain.length, 2, `${plain} after change ${change}`);
    assert.ok(change < 30);
  }
});

test('LogRotation restores the log of a container that exited during a rotation', async () => {
  const { fs, clock, logOf, set, start, files } = await setUp();
  await logOf('web').writeLines(5);
  await fs.rename('/logs/web/0.log', '/logs/web/0.log.20260101-000000');
  set('web', 'exited');
  const { stop } = start();
  await clock.advance(0);
  await stop();
  assert.deepEqual(await files(), ['0.log']);
});
