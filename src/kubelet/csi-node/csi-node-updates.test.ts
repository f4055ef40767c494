import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { CSIDriver } from '../../api/generated/core-v1.ts';
import { silentLog } from '../../base/log.ts';
import { VirtualClock } from '../../host/fake/virtual-clock.ts';
import { CsiNodeUpdates } from './csi-node-updates.ts';

const FOREVER = new AbortController().signal;

function world() {
  const clock = new VirtualClock();
  const registered = new Set<string>();
  const periods = new Map<string, number>();
  const [onRegistered, onChanged] = [new Set<(name: string) => void>(), new Set<(name: string) => void>()];
  const updates: string[] = [];
  let error: Error | undefined;
  const subscribeTo = (set: Set<(name: string) => void>) => (listener: (name: string) => void) => {
    set.add(listener);
    return () => set.delete(listener);
  };
  const updater = new CsiNodeUpdates({
    clock,
    log: silentLog,
    drivers: {
      has: (name) => registered.has(name),
      nodeInfo: async () => {
        if (error) throw error;
        return { nodeId: 'n', maxVolumes: 1n, topology: {} };
      },
      subscribe: subscribeTo(onRegistered),
    },
    objects: {
      cached: (name) => ({ spec: { nodeAllocatableUpdatePeriodSeconds: periods.get(name) } }) as CSIDriver,
      onChange: subscribeTo(onChanged),
    },
    record: { update: async (name) => void updates.push(`${name} ${clock.monotonic() / 1000}`) },
  });
  return {
    clock,
    updates,
    updater,
    register(name: string) {
      registered.add(name);
      for (const each of onRegistered) each(name);
    },
    deregister: (name: string) => registered.delete(name),
    setPeriod(name: string, seconds: number) {
      periods.set(name, seconds);
      for (const each of onChanged) each(name);
    },
    fail(next: Error | undefined) {
      error = next;
    },
    listeners: () => onRegistered.size + onChanged.size,
  };
}

test('a driver is asked again with the period of its CSIDriver object', async () => {
  const it = world();
  const life = new AbortController();
  const running = it.updater.run(life.signal);
  it.setPeriod('a.csi', 10);
  await it.clock.advance(60_000);
  assert.deepEqual(it.updates, []);
  it.register('a.csi');
  it.register('b.csi');
  await it.clock.advance(25_000);
  assert.deepEqual(it.updates, ['a.csi 70', 'a.csi 80']);
  it.setPeriod('a.csi', 30);
  await it.clock.advance(30_000);
  assert.deepEqual(it.updates.slice(2), ['a.csi 115']);
  it.setPeriod('a.csi', 0);
  await it.clock.advance(60_000);
  assert.equal(it.updates.length, 3);
  life.abort();
  await it.clock.runUntil(running);
  assert.equal(it.listeners(), 0);
});

test('an update that fails is tried again; a driver that is gone is not asked', async () => {
  const it = world();
  const life = new AbortController();
  const running = it.updater.run(life.signal);
  it.register('a.csi');
  it.setPeriod('a.csi', 10);
  it.fail(new Error('no answer'));
  await it.clock.advance(10_000);
  it.fail(undefined);
  await it.clock.advance(10_000);
  assert.deepEqual(it.updates, ['a.csi 20']);
  it.deregister('a.csi');
  await it.clock.advance(60_000);
  assert.equal(it.updates.length, 1);
  it.register('a.csi');
  await it.clock.advance(10_000);
  assert.equal(it.updates.length, 2);
  life.abort();
  await it.clock.runUntil(running);
});

test('refresh() updates at once', async () => {
  const it = world();
  await it.updater.refresh('a.csi', FOREVER);
  assert.deepEqual(it.updates, ['a.csi 0']);
});
