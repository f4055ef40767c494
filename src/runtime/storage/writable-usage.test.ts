import assert from 'node:assert/strict';
import { test } from 'node:test';
import { VirtualClock } from '../../host/fake/virtual-clock.ts';
import { WritableUsage } from './writable-usage.ts';

const signal = new AbortController().signal;

function setUp() {
  const clock = new VirtualClock({});
  const layers = new Map([['c1', 10]]);
  const state: { walks: number; gate: Promise<void> | undefined; error: Error | undefined } = {
    walks: 0,
    gate: undefined,
    error: undefined,
  };
  const usage = new WritableUsage(clock, {
    list: async () => [...layers.keys()],
    usage: async (id) => {
      state.walks++;
      await state.gate;
      if (state.error) throw state.error;
      return { bytes: layers.get(id) ?? 0, inodes: 1 };
    },
  });
  const bytes = async () => (await usage.sum(signal)).bytes;
  return { clock, layers, state, bytes };
}

test('the usage of writable layers is measured once in ten seconds, for all callers', async () => {
  const { clock, layers, state, bytes } = setUp();
  assert.deepEqual(await Promise.all([bytes(), bytes()]), [10, 10]);
  layers.set('c1', 20);
  await clock.advance(9_999);
  assert.equal(await bytes(), 10);
  assert.equal(state.walks, 1);
});

test('callers do not wait for a new measurement', async () => {
  const { clock, layers, state, bytes } = setUp();
  await bytes();
  layers.set('c1', 20);
  const gate = Promise.withResolvers<void>();
  state.gate = gate.promise;
  await clock.advance(10_000);
  assert.deepEqual([await bytes(), await bytes()], [10, 10]);
  gate.resolve();
  await clock.advance(1);
  assert.equal(await bytes(), 20);
  assert.equal(state.walks, 2);
});

test('a measurement that fails rejects at first, and keeps the last result later', async () => {
  const { clock, state, bytes } = setUp();
  state.error = new Error('EIO');
  await assert.rejects(bytes(), /EIO/);
  state.error = undefined;
  assert.equal(await bytes(), 10);
  state.error = new Error('EIO');
  await clock.advance(10_000);
  assert.equal(await bytes(), 10);
  await clock.advance(1);
  assert.equal(await bytes(), 10);
});
