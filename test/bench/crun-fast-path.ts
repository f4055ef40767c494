/**
 * Starts, kills and removes containers with crun: its `start`, `kill` and `delete` commands compared with the direct
 * operations that replace them (a byte into `exec.fifo`, a signal, removed files), alternating in one run.
 *
 *   scripts/node test/bench/crun-fast-path.ts [--rounds 30]
 *
 * On a machine whose cgroup v2 mount has controllers, run it in a mount namespace without that mount:
 *
 *   unshare --mount --propagation unchanged sh -ec 'mount --make-rprivate /sys/fs/cgroup
 *     umount /sys/fs/cgroup/unified; exec scripts/node test/bench/crun-fast-path.ts'
 */
import { execFile } from 'node:child_process';
import { parseArgs, promisify } from 'node:util';
import { MONITOR, never, OciWorld } from '../integration/oci-fixture.ts';
import { row, timed } from './both-runtimes.ts';

const { values } = parseArgs({ options: { rounds: { type: 'string', default: '30' } } });
const rounds = Number(values.rounds);
const SIGKILL = 9;
const CRUN = '/usr/bin/crun';

const run = promisify(execFile);
const world = new OciWorld(CRUN);
const commands = world.runtime(MONITOR, false);
const direct = world.runtime(MONITOR, true);
const figures = { start: [[], []], kill: [[], []], remove: [[], []] } satisfies Record<string, [number[], number[]]>;
const measured: Record<keyof typeof figures, [number[], number[]]> = figures;
try {
  for (let round = 0; round < rounds; round++) {
    for (const [side, runtime] of [commands, direct].entries()) {
      const container = world.container(['sleep', '1000']);
      const { id } = container;
      measured.start[side]?.push(await timed(() => runtime.start(container, never)));
      const kill = (): Promise<unknown> =>
        side === 0 ? run(CRUN, [`--root=${world.stateRoot}`, 'kill', id, 'KILL']) : runtime.kill(container, SIGKILL);
      measured.kill[side]?.push(await timed(kill));
      await runtime.wait(container, never);
      measured.remove[side]?.push(await timed(() => runtime.remove(container, never)));
    }
  }
} finally {
  await world.close();
}
console.log('left: crun commands, right: direct operations');
for (const [name, sides] of Object.entries(measured)) row(name, sides, 'ms');
