import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ContainerEventResponse } from '../../../src/cri/generated/runtime-v1.ts';
import { aborted, connected, event, forever } from './partial-runtime.ts';

test('a server that stops ends a stream with Unavailable after the sent messages', async (t) => {
  const { client, server } = await connected(t, {
    getContainerEvents: async function* (_, signal) {
      yield event('first');
      await aborted(signal);
    },
  });
  const received: string[] = [];
  await assert.rejects(
    async () => {
      for await (const { containerId } of client.runtime.getContainerEvents({}, forever)) {
        received.push(containerId);
        void server.close();
      }
    },
    { code: 'Unavailable', message: 'the runtime is stopping' },
  );
  assert.deepEqual(received, ['first']);
});

test('leaving a stream aborts the handler, also while the next message is awaited', async (t) => {
  const signals: AbortSignal[] = [];
  const { client } = await connected(t, {
    getContainerEvents: async function* (_, signal) {
      signals.push(signal);
      yield event('first');
      await aborted(signal);
    },
  });
  for await (const _ of client.runtime.getContainerEvents({}, forever)) break;

  const iterator = client.runtime.getContainerEvents({}, forever)[Symbol.asyncIterator]();
  await iterator.next();
  const waiting = iterator.next();
  assert.deepEqual(await iterator.return?.(), { done: true, value: undefined });
  assert.deepEqual(await waiting, { done: true, value: undefined });
  await Promise.all(signals.map(aborted));
  assert.equal(signals.length, 2);
});

test('aborting a stream throws the reason to the reader', async (t) => {
  const { client } = await connected(t, {
    getContainerEvents: async function* (_, signal) {
      yield event('first');
      await aborted(signal);
    },
  });
  const controller = new AbortController();
  const reason = new Error('enough');
  const reading = (async () => {
    for await (const _ of client.runtime.getContainerEvents({}, controller.signal)) controller.abort(reason);
  })();
  await assert.rejects(reading, reason);
});

test('a slow reader applies back-pressure to the handler', async (t) => {
  let produced = 0;
  const labels = { blob: 'x'.repeat(64 * 1024) };
  const { client } = await connected(t, {
    getContainerEvents: async function* () {
      while (produced < 1000) {
        produced++;
        yield ContainerEventResponse.fromPartial({ podSandboxStatus: { labels } });
      }
    },
  });
  for await (const _ of client.runtime.getContainerEvents({}, forever)) {
    await new Promise((resolve) => setTimeout(resolve, 100));
    break;
  }
  assert.ok(produced < 500, `${produced} messages of 64 KiB were produced for a reader of one`);
});
