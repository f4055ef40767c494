/** Process trees of any depth and width are killed. `NODELET_TEST_PROCESSES=9000` tests larger ones. */
import assert from 'node:assert/strict';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { createLinuxProcesses } from '../../../src/host/linux/process/linux-processes.ts';
import type { RunningProgram } from '../../../src/host/processes.ts';

const PERL = '/usr/bin/perl';
const COUNT = Number(process.env['NODELET_TEST_PROCESSES'] ?? 200);
/** Each process starts the next one and waits for it; the last one reports it. All end by themselves after a while. */
const CHAIN = `my $left = shift; $| = 1;
while ($left-- > 0) { my $child = fork; defined $child or last; if ($child) { waitpid $child, 0; exit } }
print "ready\\n"; sleep 60;`;
/** The same, each process in its own session, so that no process group has two of them. */
const SESSIONS = `use POSIX; ${CHAIN.replace('if ($child)', 'POSIX::setsid() if !$child; if ($child)')}`;
/** One process starts all others. */
const MANY_CHILDREN = `my $left = shift; $| = 1;
while ($left-- > 0) { my $child = fork; defined $child or last; if (!$child) { sleep 60; exit } }
print "ready\\n"; sleep 60;`;

const CASES: Readonly<Record<string, string>> = {
  'a chain of processes': CHAIN,
  'a chain of sessions': SESSIONS,
  'a process with many children': MANY_CHILDREN,
};

const skip = existsSync(PERL) ? false : `not installed: ${PERL}`;

for (const [name, text] of Object.entries(CASES)) {
  test(`linux programs: ${name} is killed completely`, { skip, timeout: 120_000 }, async () => {
    const script = `${text}# ${process.pid}`;
    const program = await started(script);
    assert.ok(processesOf(script).length > COUNT, 'the machine did not let it grow');
    await program.kill();
    await program.exited;
    while (processesOf(script).length > 0) await delay(100);
  });
}

async function started(script: string): Promise<RunningProgram> {
  const program = await createLinuxProcesses(process.env).spawn({
    program: PERL,
    args: ['-e', script, String(COUNT)],
    env: { PATH: '/usr/bin:/bin' },
    streams: 'outputOnly',
  });
  for await (const chunk of program.stdout) {
    assert.equal(new TextDecoder().decode(chunk), 'ready\n');
    return program;
  }
  return assert.fail('the program ended early');
}

/** Running processes, without zombies. */
function processesOf(script: string): readonly string[] {
  return readdirSync('/proc').filter((name) => {
    if (!/^\d+$/.test(name)) return false;
    try {
      const isZombie = readFileSync(`/proc/${name}/stat`, 'utf8').includes(') Z ');
      return !isZombie && readFileSync(`/proc/${name}/cmdline`, 'utf8').includes(script);
    } catch {
      return false; // it has ended meanwhile
    }
  });
}
