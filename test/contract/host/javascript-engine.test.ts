import assert from 'node:assert/strict';
import { test } from 'node:test';
import { MemoryJavaScriptEngine } from '../../../src/host/fake/memory-javascript-engine.ts';
import type { CollectionPause, JavaScriptEngine } from '../../../src/host/javascript-engine.ts';
import { linuxJavaScriptEngine } from '../../../src/host/linux/process/linux-javascript-engine.ts';

interface World {
  readonly engine: JavaScriptEngine;
  collect(): void;
}

const memory = new MemoryJavaScriptEngine();
const worlds: Record<string, World> = {
  linux: {
    engine: linuxJavaScriptEngine,
    collect: () => {
      for (let i = 0; i < 100; i++) new Array(100_000).fill(i).map((each) => ({ each }));
    },
  },
  memory: { engine: memory, collect: () => memory.pause({ kind: 'minor', tookMs: 1 }) },
};

for (const [name, { engine, collect }] of Object.entries(worlds)) {
  test(`JavaScriptEngine (${name}): heap spaces have names, and use no more than their size`, () => {
    const spaces = engine.heapSpaces();
    assert.ok(spaces.some((space) => space.name === 'old_space'));
    for (const { usedBytes, sizeBytes } of spaces) assert.ok(usedBytes <= sizeBytes);
  });

  test(`JavaScriptEngine (${name}): a timer is never early, and the times of the event loop do not fall`, async () => {
    const before = engine.eventLoopTimes();
    assert.ok((await engine.timerLagMs()) >= 0);
    const after = engine.eventLoopTimes();
    assert.ok(after.activeMs >= before.activeMs && after.idleMs >= before.idleMs);
  });

  test(`JavaScriptEngine (${name}): pauses are reported until the observer leaves`, async () => {
    const { promise, resolve } = Promise.withResolvers<CollectionPause>();
    const leave = engine.observePauses(resolve);
    collect();
    const { tookMs, kind } = await promise;
    leave();
    assert.ok(tookMs >= 0 && kind !== undefined);
  });
}
