import assert from 'node:assert/strict';
import { test } from 'node:test';
import { VirtualClock } from '../../host/fake/virtual-clock.ts';
import { LayerSizes } from './layer-sizes.ts';

const never = new AbortController().signal;

function world({ takesMs = 0 } = {}) {
  const clock = new VirtualClock();
  const walks: string[] = [];
  let bytes = 0;
  const snapshots = {
    usage: async (id: string) => {
      walks.push(id);
      await clock.sleep(takesMs, never);
      bytes += 100;
      return { bytes, inodes: 1 };
    },
  };
  const sizes = new LayerSizes({ clock, snapshots });
  const sizeOf = async (id: string) =>
    (await clock.runUntil(sizes.size(id).finally(() => clock.sleep(0, never))))?.bytes;
  return { clock, walks, sizes, sizeOf };
}

test('LayerSizes waits for the first size, and caches it', async () => {
  const { clock, walks, sizeOf } = world();
  assert.equal(await sizeOf('a'), 100);
  await clock.advance(9_000);
  assert.equal(await sizeOf('a'), 100);
  assert.deepEqual(walks, ['a']);
});

test('LayerSizes returns the last size while it measures the next one', async () => {
  const { clock, walks, sizeOf } = world();
  await sizeOf('a');
  await clock.advance(11_000);
  assert.equal(await sizeOf('a'), 100);
  await clock.advance(1);
  assert.equal(await sizeOf('a'), 200);
  assert.deepEqual(walks, ['a', 'a']);
});

test('LayerSizes caches a size twenty times as long as the measurement took', async () => {
  const { clock, walks, sizeOf } = world({ takesMs: 3_000 });
  await sizeOf('a');
  await clock.advance(59_000);
  await sizeOf('a');
  assert.deepEqual(walks, ['a']);
  await clock.advance(2_000);
  await sizeOf('a');
  assert.deepEqual(walks, ['a', 'a']);
});

test('LayerSizes walks one tree at a time, and once for concurrent callers', async () => {
  const { clock, walks, sizes } = world({ takesMs: 1_000 });
  const all = Promise.all([sizes.size('a'), sizes.size('a'), sizes.size('b')]);
  await clock.advance(500);
  assert.deepEqual(walks, ['a']);
  assert.deepEqual(
    (await clock.runUntil(all)).map((size) => size?.bytes),
    [100, 100, 200],
  );
  assert.deepEqual(walks, ['a', 'b']);
});

test('LayerSizes returns undefined for a layer that cannot be measured', async () => {
  const clock = new VirtualClock();
  const sizes = new LayerSizes({ clock, snapshots: { usage: () => Promise.reject(new Error('ENOENT')) } });
  assert.equal(await sizes.size('gone'), undefined);
});
