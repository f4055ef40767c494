import assert from 'node:assert/strict';
import { test } from 'node:test';
import { silentLog } from '../../base/log.ts';
import { createMemoryHost } from '../../host/fake/memory-host.ts';
import { EndedPods } from './unprepare-ended-pods.ts';

test('the claims of pods without a worker are unprepared once all sources are ready, and tried again', async () => {
  const { clock } = createMemoryHost();
  const unprepared: string[] = [];
  const claim = { uid: 'c', name: 'gpu', namespace: 'default', devices: new Map() };
  const cache = { all: [{ ...claim, podUids: new Set(['gone', 'running', 'broken']) }] };
  const manager = {
    unprepare: async (uid: string) => {
      unprepared.push(uid);
      if (unprepared.length === 1) throw new Error('DRA driver gpu.example.com is not registered');
    },
  };
  const ended = new EndedPods({ manager, cache, clock, log: silentLog });
  const end = new AbortController();
  let areSourcesReady = false;
  const isActive = async (uid: string): Promise<boolean> => {
    if (uid === 'broken') throw new Error('the runtime does not answer');
    return uid === 'running';
  };
  const running = ended.run({ areSourcesReady: () => areSourcesReady, isActive }, end.signal);
  await clock.advance(1_000);
  assert.deepEqual(unprepared, []);
  areSourcesReady = true;
  ended.retry();
  await clock.advance(1);
  assert.deepEqual(unprepared, ['gone']);
  ended.retry(); // the driver has registered
  await clock.advance(1);
  assert.deepEqual(unprepared, ['gone', 'gone']);
  await clock.advance(60_000);
  assert.deepEqual(unprepared, ['gone', 'gone', 'gone']);
  end.abort(new Error('stopped'));
  await clock.runUntil(running);
});
