import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createMemoryHost } from '../../host/fake/memory-host.ts';
import { killLeftoverExecs } from './leftover-execs.ts';

const BUNDLE = '/state/containers/c1';
const PID_FILE = `${BUNDLE}/exec-1-1.pid`;

/** An exec of a previous process: crun with this argument, and its child 7000. */
async function worldWithExec(argument: string) {
  const { fs, processes } = createMemoryHost();
  processes.install('/usr/bin/crun', () => new Promise(() => {}));
  const crun = await processes.startDaemon({ program: '/usr/bin/crun', args: [], logFile: '/crun.log' });
  const files = {
    [PID_FILE]: '7000',
    [`${BUNDLE}/exec-1-1.json`]: '{}',
    [`${BUNDLE}/exec-1-1.sock`]: '',
    [`${BUNDLE}/config.json`]: '{}',
    '/proc/7000/status': `Name:\tsleep\nPPid:\t${crun.pid}\n`,
    [`/proc/${crun.pid}/cmdline`]: ['/usr/bin/crun', 'exec', '--pid-file', argument, 'c1', ''].join('\0'),
  };
  for (const [path, text] of Object.entries(files)) {
    await fs.makeDirectory(path.slice(0, path.lastIndexOf('/')));
    await fs.writeFile(path, text);
  }
  return { fs, processes, crun };
}

const cases = {
  'kills the runtime that writes the PID file': { argument: PID_FILE, isAlive: false },
  'ignores another process with the same PID': { argument: '/other.pid', isAlive: true },
};

for (const [name, { argument, isAlive }] of Object.entries(cases)) {
  test(`killLeftoverExecs() ${name}, and removes the files`, async () => {
    const world = await worldWithExec(argument);
    await killLeftoverExecs({ id: 'c1', bundle: BUNDLE }, world);
    assert.equal((await world.processes.identify(world.crun.pid)) !== undefined, isAlive);
    const left = await world.fs.readDirectory(BUNDLE);
    assert.deepEqual(
      left.map((entry) => entry.name),
      ['config.json'],
    );
    await killLeftoverExecs({ id: 'c1', bundle: BUNDLE }, world);
    await killLeftoverExecs({ id: 'c2', bundle: '/state/containers/c2' }, world);
  });
}
