/** The contract of pressure events; the real implementation needs root, and cgroup v1 for reports of usage. */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, rmdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import process from 'node:process';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { MemoryPressureEvents } from '../../../src/host/fake/memory-pressure-events.ts';
import { FileSystemError } from '../../../src/host/file-system.ts';
import { createLinuxPressureEvents } from '../../../src/host/linux/cgroup/linux-pressure-events.ts';
import type { PressureEvents } from '../../../src/host/pressure-events.ts';

const MIB = 2 ** 20;
const CGROUP = `/nodelet-pressure-${process.pid}`;
const isV1 = existsSync('/sys/fs/cgroup/memory/cgroup.event_control');
const skip = process.getuid?.() !== 0 && 'needs root';

interface PressureWorld {
  readonly events: PressureEvents;
  /** A process in the cgroup uses this much memory, and ends. */
  use(bytes: number): Promise<void>;
  close(): void;
}

function memoryWorld(): PressureWorld {
  const events = new MemoryPressureEvents('v1');
  events.setUsage(CGROUP, 0);
  return {
    events,
    async use(bytes) {
      events.setUsage(CGROUP, bytes);
      events.setUsage(CGROUP, 0);
    },
    close() {},
  };
}

function linuxWorld(): PressureWorld {
  const folder = `/sys/fs/cgroup/memory${CGROUP}`;
  mkdirSync(folder);
  return {
    events: createLinuxPressureEvents(),
    async use(bytes) {
      const command = `echo $$ > ${folder}/cgroup.procs; head -c ${bytes} /dev/zero | tail -c ${bytes} > /dev/null`;
      const child = spawn('sh', ['-c', command]);
      await new Promise((resolve) => child.on('close', resolve));
    },
    close: () => rmdirSync(folder),
  };
}

const WORLDS: Readonly<Record<string, () => PressureWorld>> = {
  memory: memoryWorld,
  ...(isV1 && skip === false && { linux: linuxWorld }),
};

for (const [name, create] of Object.entries(WORLDS)) {
  test(`${name}: watchUsage() reports that the limit is crossed, until its signal aborts`, async () => {
    const world = create();
    const stop = new AbortController();
    try {
      let crossed = 0;
      assert.equal(await world.events.watchUsage(CGROUP, 16 * MIB, () => crossed++, stop.signal), true);
      await world.use(4 * MIB);
      assert.equal(crossed, 0);
      await world.use(64 * MIB);
      for (let waited = 0; crossed === 0 && waited < 100; waited++) await sleep(20);
      assert.ok(crossed > 0);
      stop.abort();
      await sleep(50); // the descriptor is closed in the next turn of the event loop
      const before = crossed;
      await world.use(64 * MIB);
      assert.equal(crossed, before);
    } finally {
      stop.abort();
      await sleep(50);
      world.close();
    }
  });

  test(`${name}: watchUsage() rejects for a missing cgroup`, async () => {
    const world = create();
    try {
      const watching = world.events.watchUsage(`${CGROUP}-missing`, MIB, () => {}, new AbortController().signal);
      await assert.rejects(watching, (error) => error instanceof FileSystemError && error.code === 'ENOENT');
    } finally {
      world.close();
    }
  });
}

test('memory: watchStalls() reports stalls until its signal aborts', async () => {
  const events = new MemoryPressureEvents();
  const stop = new AbortController();
  let stalls = 0;
  assert.equal(await events.watchStalls({ stallMs: 100, windowMs: 1000 }, () => stalls++, stop.signal), true);
  events.stall();
  stop.abort();
  events.stall();
  assert.equal(stalls, 1);
});

test('linux: watchStalls() reports tasks that wait for memory', {
  skip: skip || !isV1 || !existsSync('/proc/pressure/memory'),
}, async () => {
  const events = createLinuxPressureEvents();
  const folder = `/sys/fs/cgroup/memory${CGROUP}-stall`;
  mkdirSync(folder);
  const scratch = mkdtempSync(join(tmpdir(), 'nodelet-stall-'));
  const file = join(scratch, 'zeros');
  const stop = new AbortController();
  try {
    let stalls = 0;
    const isWatched = await events.watchStalls({ stallMs: 1, windowMs: 2000 }, () => stalls++, stop.signal);
    if (!isWatched) return; // the kernel was started without pressure stall information
    // Pages of its own file are charged to the cgroup, which reclaims them again and again. Pages that other processes have
    // read before would be charged to their cgroups.
    const command = `echo 8M > ${folder}/memory.limit_in_bytes; echo $$ > ${folder}/cgroup.procs; for i in 1 2 3; do head -c ${64 * MIB} /dev/zero > ${file}; cat ${file} > /dev/null; done`;
    const child = spawn('sh', ['-c', command]);
    await new Promise((resolve) => child.on('close', resolve));
    for (let waited = 0; stalls === 0 && waited < 50; waited++) await sleep(20);
    assert.ok(stalls > 0);
  } finally {
    stop.abort();
    await sleep(50);
    rmdirSync(folder);
    rmSync(scratch, { recursive: true });
  }
});
