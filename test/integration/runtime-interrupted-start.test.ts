import assert from 'node:assert/strict';
import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { never, OciWorld, usableCrun } from './oci-fixture.ts';

const { program, skip } = await usableCrun();

test('a monitor that has not begun when its starter dies is found, and its resources are removed', {
  skip,
}, async () => {
  const world = new OciWorld(program);
  try {
    const container = world.container(['sleep', '1000']);
    const monitor = join(world.folder, 'slow-monitor');
    writeFileSync(monitor, `#!/bin/sh\ntouch "${world.folder}/begun"\nsleep 1000\n`, { mode: 0o755 });
    const lost = new AbortController();
    const start = world.runtime(monitor).start(container, lost.signal);
    const failed = assert.rejects(start);
    while (!existsSync(`${world.folder}/begun`)) await delay(5);

    const runtime = world.runtime();
    await runtime.waitForInterruptedStart(container, never);
    await runtime.remove(container, never);
    await failed;
    assert.deepEqual(await world.remainingResources(), []);
  } finally {
    await world.close();
  }
});

test('a running container is not touched', { skip }, async () => {
  const world = new OciWorld(program);
  try {
    const container = world.container(['sleep', '1000']);
    const { pid } = await world.runtime().start(container, never);
    await world.runtime().waitForInterruptedStart(container, never);
    process.kill(pid, 0);
  } finally {
    await world.close();
  }
});
