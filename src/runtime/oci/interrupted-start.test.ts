import assert from 'node:assert/strict';
import { once } from 'node:events';
import { test } from 'node:test';
import { createMemoryHost, type MemoryHost } from '../../host/fake/memory-host.ts';
import { waitForInterruptedStart } from './interrupted-start.ts';
import { createSeccompFilterCache } from './seccomp-filter-cache.ts';

const signal = new AbortController().signal;
const container = { id: 'c1', bundle: '/run/containers/c1' };
const STATE = '/run/oci/crun';
const MONITOR = ['-c', 'c1', '-r', '/usr/bin/crun', '-b', '/run/containers/c1'];

interface LeftoverProgram {
  readonly program: string;
  readonly args: readonly string[];
}

/** A machine on which a previous process left these programs running until they are killed. */
async function machineWith(left: readonly LeftoverProgram[], hasBegun: boolean): Promise<MemoryHost> {
  const host = createMemoryHost();
  await host.fs.makeDirectory(container.bundle);
  await host.fs.makeDirectory('/log');
  if (hasBegun) await host.fs.writeFile(`${container.bundle}/pidfile`, '7');
  for (const { program, args } of left) {
    host.processes.install(program, async ({ ended }) => {
      await once(ended, 'abort');
      return 0;
    });
    await host.processes.startDaemon({ program, args, logFile: '/log/left' });
  }
  return host;
}

async function programsOn({ processes }: MemoryHost): Promise<string[]> {
  const programs: string[] = [];
  await processes.find(({ args }) => programs.push(args[0] ?? '') > 0);
  return programs;
}

const cases: Record<string, { left: readonly LeftoverProgram[]; hasBegun: boolean; stays: readonly string[] }> = {
  'a monitor without a container is killed': {
    left: [{ program: '/usr/bin/conmon', args: MONITOR }],
    hasBegun: false,
    stays: [],
  },
  'a monitor with a container is kept': {
    left: [{ program: '/usr/bin/conmon', args: MONITOR }],
    hasBegun: true,
    stays: ['/usr/bin/conmon'],
  },
  'a hanging command of the runtime is killed': {
    left: [
      { program: '/usr/bin/conmon', args: MONITOR },
      { program: '/usr/bin/crun', args: ['--root=/run/oci/crun', 'start', 'c1'] },
    ],
    hasBegun: true,
    stays: ['/usr/bin/conmon'],
  },
  'a first process that waits is not waited for': {
    left: [
      { program: '/usr/bin/conmon', args: MONITOR },
      { program: '/usr/bin/crun', args: ['create', '--bundle', '/run/containers/c1', 'c1'] },
    ],
    hasBegun: true,
    stays: ['/usr/bin/conmon', '/usr/bin/crun'],
  },
  'processes of other containers are kept': {
    left: [
      { program: '/usr/bin/conmon', args: MONITOR.map((arg) => arg.replace('c1', 'c11')) },
      { program: '/usr/bin/crun', args: ['start', 'c11'] },
    ],
    hasBegun: false,
    stays: ['/usr/bin/conmon', '/usr/bin/crun'],
  },
};
for (const [name, { left, hasBegun, stays }] of Object.entries(cases)) {
  test(`an interrupted start: ${name}`, async () => {
    const host = await machineWith(left, hasBegun);
    const done = waitForInterruptedStart(container, { ...host, program: '/usr/bin/crun', stateRoot: STATE }, signal);
    await host.clock.advance(5_000);
    await done;
    assert.deepEqual(await programsOn(host), stays);
  });
}

test('a running command of the runtime is waited for', async () => {
  const host = await machineWith([], true);
  const ends = Promise.withResolvers<number>();
  host.processes.install('/usr/bin/crun', () => ends.promise);
  await host.processes.startDaemon({ program: '/usr/bin/crun', args: ['start', 'c1'], logFile: '/log/left' });
  let isDone = false;
  const done = waitForInterruptedStart(container, { ...host, program: '/usr/bin/crun', stateRoot: STATE }, signal).then(
    () => {
      isDone = true;
    },
  );
  await host.clock.advance(1_000);
  assert.equal(isDone, false);
  ends.resolve(0);
  await done;
});

const firstProcesses: Record<string, { cmdline: string; isCrun: boolean; stays: boolean }> = {
  'still waits': { cmdline: 'crun\0create\0--bundle\0/run/containers/c1\0c1\0', isCrun: true, stays: true },
  'has been started': { cmdline: '/web\0', isCrun: true, stays: false },
  'belongs to another runtime': { cmdline: 'runc\0init\0', isCrun: false, stays: true },
};
for (const [name, { cmdline, isCrun, stays }] of Object.entries(firstProcesses)) {
  test(`a start interrupted when the first process ${name}: the FIFO ${stays ? 'is kept' : 'is removed'}`, async () => {
    const host = await machineWith([], true);
    const { fs } = host;
    for (const folder of ['/proc/7', `${STATE}/c1`]) await fs.makeDirectory(folder);
    await fs.writeFile('/proc/7/cmdline', cmdline);
    await fs.writeFile(`${STATE}/c1/exec.fifo`, '');
    const filters = createSeccompFilterCache({ path: '/filters.json', stamp: '', fs });
    const deps = { ...host, program: '/usr/bin/crun', stateRoot: STATE, ...(isCrun && { crun: { filters } }) };
    await waitForInterruptedStart(container, deps, signal);
    assert.equal((await fs.stat(`${STATE}/c1/exec.fifo`)) !== undefined, stays);
  });
}
