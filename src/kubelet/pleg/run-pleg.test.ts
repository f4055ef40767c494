import assert from 'node:assert/strict';
import { test } from 'node:test';
import { silentLog } from '../../base/log.ts';
import { criEvents } from '../../cri/cri-events.ts';
import { createFakeRuntime } from '../../cri/fake/fake-runtime.ts';
import { ContainerEventResponse, ContainerEventType } from '../../cri/generated/runtime-v1.ts';
import { createMemoryHost } from '../../host/fake/memory-host.ts';
import { type PlegMessage, plegChannel } from './pleg-channel.ts';
import { runPleg } from './run-pleg.ts';

/** Milliseconds before now at which the runtime created the event; absent: it does not say. */
const cases: Record<string, { readonly ageMs?: number; readonly delayMs: number | undefined }> = {
  'a runtime that says when it created the event': { ageMs: 40, delayMs: 40 },
  'a runtime that does not': { delayMs: undefined },
};

for (const [name, { ageMs, delayMs }] of Object.entries(cases)) {
  test(`runPleg() publishes the latency of an event of ${name}`, async (t) => {
    const { clock, random, fs } = createMemoryHost();
    const { runtime } = createFakeRuntime({ clock, random, fs }).cri;
    const createdAt = ageMs === undefined ? 0n : BigInt(clock.now() - ageMs) * 1_000_000n;
    const event = { containerId: 'c', containerEventType: ContainerEventType.CONTAINER_STARTED_EVENT, createdAt };
    const events = criEvents({
      ...runtime,
      async *getContainerEvents(_, until) {
        yield ContainerEventResponse.fromPartial(event);
        await new Promise((_resolve, reject) => until.addEventListener('abort', () => reject(until.reason)));
      },
    });
    const published: PlegMessage[] = [];
    const { promise: arrived, resolve } = Promise.withResolvers<void>();
    t.after(
      plegChannel.subscribe((message) => {
        published.push(message);
        if (message.kind === 'event') resolve();
      }),
    );
    const stop = new AbortController();
    const observed = { handleEvent: async () => undefined, beginRelist: async () => undefined };
    const health = { recordSuccess: () => undefined, recordFailure: () => undefined };
    const running = runPleg({ observed, events, health, clock, log: silentLog }, stop.signal);
    await clock.advance(1);
    await arrived;
    stop.abort();
    await running;
    assert.deepEqual(published, [{ kind: 'connected' }, { kind: 'event', delayMs }]);
  });
}
