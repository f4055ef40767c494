import assert from 'node:assert/strict';
import test from 'node:test';
import { SharedPulls } from './shared-pulls.ts';

const never = new AbortController().signal;
const unlimited = { serializeImagePulls: false, maxParallelImagePulls: undefined };

/** Pulls that the test completes; `started` lists them in order. */
class Registry {
  readonly started: string[] = [];
  readonly aborted: string[] = [];
  readonly #pending = new Map<string, PromiseWithResolvers<string>>();

  pull = (image: string) => (signal: AbortSignal) => {
    this.started.push(image);
    const pending = Promise.withResolvers<string>();
    this.#pending.set(image, pending);
    signal.addEventListener('abort', () => {
      this.aborted.push(image);
      pending.reject(signal.reason);
    });
    return pending.promise;
  };

  finish(image: string): void {
    this.#pending.get(image)?.resolve(`id of ${image}`);
  }

  fail(image: string): void {
    this.#pending.get(image)?.reject(new Error(`no ${image}`));
  }
}

const settled = () => new Promise<void>((resolve) => process.nextTick(() => queueMicrotask(resolve)));

test('SharedPulls pulls once for all callers, and shares the error', async () => {
  const pulls = new SharedPulls<string>(unlimited);
  const registry = new Registry();
  const both = [pulls.pull('a', registry.pull('a'), never), pulls.pull('a', registry.pull('a'), never)];
  await settled();
  registry.finish('a');
  assert.deepEqual(await Promise.all(both), ['id of a', 'id of a']);

  const failing = [pulls.pull('b', registry.pull('b'), never), pulls.pull('b', registry.pull('b'), never)];
  await settled();
  registry.fail('b');
  assert.deepEqual(
    (await Promise.allSettled(failing)).map(({ status }) => status),
    ['rejected', 'rejected'],
  );
  assert.deepEqual(registry.started, ['a', 'b']);
});

test('SharedPulls continues for the others when one caller aborts, and aborts without callers', async () => {
  const pulls = new SharedPulls<string>(unlimited);
  const registry = new Registry();
  const [first, second] = [new AbortController(), new AbortController()];
  const waiting = [first, second].map(({ signal }) => pulls.pull('a', registry.pull('a'), signal));
  const outcomes = Promise.allSettled(waiting);
  await settled();
  first.abort(new Error('gone'));
  await assert.rejects(waiting[0] ?? assert.fail(), { message: 'gone' });
  assert.deepEqual(registry.aborted, []);
  second.abort(new Error('gone too'));
  await outcomes;
  assert.deepEqual(registry.aborted, ['a']);

  const again = pulls.pull('a', registry.pull('a'), never);
  await settled();
  registry.finish('a');
  assert.equal(await again, 'id of a');
});

test('SharedPulls limits concurrent pulls, in order', async () => {
  const pulls = new SharedPulls<string>({ serializeImagePulls: false, maxParallelImagePulls: 2 });
  const registry = new Registry();
  const all = ['a', 'b', 'c', 'd'].map((image) => pulls.pull(image, registry.pull(image), never));
  await settled();
  assert.deepEqual(registry.started, ['a', 'b']);
  registry.finish('b');
  await all[1];
  await settled();
  assert.deepEqual(registry.started, ['a', 'b', 'c']);
  registry.finish('a');
  registry.finish('c');
  await settled();
  await settled();
  registry.finish('d');
  await Promise.all(all);
});

test('SharedPulls skips a queued pull without callers', async () => {
  const pulls = new SharedPulls<string>({ serializeImagePulls: true, maxParallelImagePulls: 5 });
  const registry = new Registry();
  const controller = new AbortController();
  const first = pulls.pull('a', registry.pull('a'), never);
  const dropped = pulls.pull('b', registry.pull('b'), controller.signal);
  const last = pulls.pull('c', registry.pull('c'), never);
  controller.abort(new Error('gone'));
  await assert.rejects(dropped);
  registry.finish('a');
  await first;
  await settled();
  await settled();
  registry.finish('c');
  await last;
  assert.deepEqual(registry.started, ['a', 'c']);
});
