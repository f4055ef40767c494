import assert from 'node:assert/strict';
import { test } from 'node:test';
import { aborted } from '../../../base/aborted.ts';
import type { PullProgress } from '../image-puller.ts';
import type { StoredImage } from '../image-store.ts';
import type { PullTracker } from './pull-tracker.ts';
import { SharedPulls } from './shared-pulls.ts';

const IMAGE = { id: 'sha256:1' } as StoredImage; // only passed on
const never = new AbortController().signal;

/** Pulls that end on request. */
function scene() {
  const pulls = new SharedPulls();
  const begun: { readonly stage: PullTracker; readonly signal: AbortSignal; readonly end: () => void }[] = [];
  const join = (key: string, signal: AbortSignal = never, watch?: (progress: PullProgress) => void) =>
    pulls.join(
      key,
      async (stage, until) => {
        const { promise, resolve } = Promise.withResolvers<void>();
        begun.push({ stage, signal: until, end: resolve });
        await Promise.race([promise, aborted(until)]);
        until.throwIfAborted();
        return IMAGE;
      },
      signal,
      watch,
    );
  return { join, begun };
}

test('callers of the same image share one pull', async () => {
  const { join, begun } = scene();
  const all = [join('a'), join('a'), join('b')];
  assert.equal(begun.length, 2);
  for (const { end } of begun) end();
  assert.deepEqual(await Promise.all(all), [IMAGE, IMAGE, IMAGE]);
  void join('a');
  assert.equal(begun.length, 3);
});

test('a pull continues when one of two callers aborts, and is aborted with the last', async () => {
  const { join, begun } = scene();
  const [first, second] = [new AbortController(), new AbortController()];
  const [one, two] = [join('a', first.signal), join('a', second.signal)];
  first.abort(new Error('enough'));
  await assert.rejects(one, { message: 'enough' });
  assert.equal(begun[0]?.signal.aborted, false);
  second.abort(new Error('me too'));
  await assert.rejects(two, { message: 'me too' });
  assert.equal(begun[0]?.signal.aborted, true);
  const third = join('a');
  begun[1]?.end();
  assert.equal(await third, IMAGE);
});

test('the error of a pull is returned to all callers', async () => {
  const pulls = new SharedPulls();
  const fail = async (): Promise<StoredImage> => {
    await Promise.resolve();
    throw new Error('no such image');
  };
  const all = [pulls.join('a', fail, never), pulls.join('a', fail, never)];
  for (const each of all) await assert.rejects(each, { message: 'no such image' });
});

test('a late watcher receives the current state', async () => {
  const { join, begun } = scene();
  const [early, late]: [PullProgress[], PullProgress[]] = [[], []];
  const all = [join('a', never, (each) => early.push(each))];
  const layers = [{ digest: 'sha256:l', sizeBytes: 7 }];
  begun[0]?.stage.resolved({ digest: 'sha256:m', source: 'https://x/v2', layers });
  begun[0]?.stage.layer('sha256:l', { phase: 'coming', receivedBytes: 3 });
  all.push(join('a', never, (each) => late.push(each)));
  begun[0]?.stage.layer('sha256:l', { phase: 'done' });
  begun[0]?.end();
  await Promise.all(all);
  const resolved = { kind: 'resolved', digest: 'sha256:m', source: 'https://x/v2', layers };
  const layer = (state: object) => ({ kind: 'layer', digest: 'sha256:l', state });
  const [coming, done] = [layer({ phase: 'coming', receivedBytes: 3 }), layer({ phase: 'done' })];
  assert.deepEqual(early, [resolved, layer({ phase: 'waiting' }), coming, done]);
  assert.deepEqual(late, [resolved, coming, done]);
});
