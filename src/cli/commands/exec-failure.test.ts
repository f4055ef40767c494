import assert from 'node:assert/strict';
import { test } from 'node:test';
import { execFailure } from './exec-failure.ts';

const OURS = 'Internal error occurred: error executing command in container: ';
const CONTAINERD = `${OURS}failed to exec in container: failed to start exec "1f": OCI runtime exec failed: exec failed: unable to start container process: `;

const cases: Record<string, { program: string; failure: string; says: string | undefined; exitCode?: number }> = {
  'runc finds no program': {
    program: 'nosuch',
    failure: `${OURS}exec: "nosuch": executable file not found in $PATH`,
    says: 'cannot execute "nosuch": executable file not found in $PATH',
    exitCode: 127,
  },
  'runc finds no file': {
    program: '/no/such',
    failure: `${OURS}exec: "/no/such": stat /no/such: no such file or directory`,
    says: 'cannot execute "/no/such": no such file or directory',
    exitCode: 127,
  },
  'runc finds no interpreter': {
    program: '/x.sh',
    failure: `${OURS}exec /x.sh: no such file or directory`,
    says: 'cannot execute "/x.sh": no such file or directory',
    exitCode: 127,
  },
  'containerd, with runc': {
    program: 'nosuch',
    failure: `${CONTAINERD}exec: "nosuch": executable file not found in $PATH: unknown`,
    says: 'cannot execute "nosuch": executable file not found in $PATH',
    exitCode: 127,
  },
  'crun finds no program': {
    program: 'nosuch',
    failure: `${OURS}executable file \`nosuch\` not found in $PATH: No such file or directory`,
    says: 'cannot execute "nosuch": executable file not found in $PATH',
    exitCode: 127,
  },
  'crun finds no file': {
    program: '/no/such',
    failure: `${OURS}executable file \`/no/such\` not found: No such file or directory`,
    says: 'cannot execute "/no/such": no such file or directory',
    exitCode: 127,
  },
  'runc may not execute it': {
    program: '/etc/passwd',
    failure: `${OURS}exec: "/etc/passwd": permission denied`,
    says: 'cannot execute "/etc/passwd": permission denied',
    exitCode: 126,
  },
  'containerd, with a folder': {
    program: '/etc',
    failure: `${CONTAINERD}exec: "/etc": is a directory: unknown`,
    says: 'cannot execute "/etc": is a directory',
    exitCode: 126,
  },
  'a program for another machine': {
    program: '/a.out',
    failure: `${OURS}exec /a.out: exec format error`,
    says: 'cannot execute "/a.out": exec format error',
    exitCode: 126,
  },
  'crun may not execute it': {
    program: '/etc/passwd',
    failure: `${OURS}open executable: Permission denied`,
    says: 'cannot execute "/etc/passwd": permission denied',
    exitCode: 126,
  },
  'crun, newer': {
    program: '/etc/passwd',
    failure: `${OURS}the path \`/etc/passwd\` exists but it is not executable`,
    says: 'cannot execute "/etc/passwd": permission denied',
    exitCode: 126,
  },
  'a working directory that is missing is not the program': {
    program: 'ls',
    failure: `${OURS}chdir to cwd ("/no/such") set in config.json failed: no such file or directory`,
    says: undefined,
  },
  'a container that has ended': {
    program: 'ls',
    failure: `${OURS}container is not running`,
    says: undefined,
  },
  'a lost connection': { program: 'ls', failure: 'the connection to the container was lost', says: undefined },
};

for (const [name, { program, failure, says, exitCode }] of Object.entries(cases)) {
  test(`why a command was not executed: ${name}`, () => {
    const expected = says === undefined ? undefined : { message: says, exitCode };
    assert.deepEqual(execFailure(failure, [program, '-l']), expected);
  });
}
