import assert from 'node:assert/strict';
import { test } from 'node:test';
import { monitorArgs, monitorLogPath } from './monitor-args.ts';
import type { MonitoredContainer } from './oci-runtime.ts';

const paths = { program: '/usr/bin/crun', stateRoot: '/s/oci/crun', exits: '/s/exits', sockets: '/s/s' };
const plain: MonitoredContainer = {
  id: 'c1',
  bundle: '/b',
  logPath: '/logs/0.log',
  terminal: false,
  stdin: false,
  stdinOnce: false,
};

const BASE =
  '--api-version 1 -c c1 -u c1 -n c1 -r /usr/bin/crun --runtime-arg=--root=/s/oci/crun -b /b -p /b/pidfile ' +
  '--conmon-pidfile /b/conmon.pid --exit-dir /s/exits --socket-dir-path /s/s --full-attach';

const cases: Record<string, { given: Partial<MonitoredContainer>; rest: string }> = {
  'writes a log in CRI format': { given: {}, rest: '-l k8s-file:/logs/0.log --no-sync-log' },
  'gives a terminal': { given: { terminal: true }, rest: '-l k8s-file:/logs/0.log --no-sync-log -t' },
  'keeps the input open': {
    given: { stdin: true },
    rest: '-l k8s-file:/logs/0.log --no-sync-log -i --leave-stdin-open',
  },
  'closes the input with the first client': {
    given: { stdin: true, stdinOnce: true },
    rest: '-l k8s-file:/logs/0.log --no-sync-log -i',
  },
};

const PLAIN = { hasOwnUsers: false, isScope: false };

for (const [name, { given, rest }] of Object.entries(cases)) {
  test(`monitorArgs() ${name}`, () => {
    assert.equal(monitorArgs({ ...plain, ...given }, paths, PLAIN).join(' '), `${BASE} ${rest}`);
  });
}

test('monitorArgs() does not give the /dev/null of the node to a container in a user namespace', () => {
  const args = monitorArgs(plain, paths, { ...PLAIN, hasOwnUsers: true }).join(' ');
  const command = `-r /bin/sh --runtime-arg=-c --runtime-arg=: | "$0" "$@" --runtime-arg=/usr/bin/crun`;
  assert.ok(args.includes(`${command} --runtime-arg=--root=/s/oci/crun -b /b`), args);
  assert.ok(
    monitorArgs({ ...plain, stdin: true }, paths, { ...PLAIN, hasOwnUsers: true })
      .join(' ')
      .startsWith(BASE),
  );
});

test('monitorArgs() lets systemd create the cgroup of a scope', () => {
  assert.ok(monitorArgs(plain, paths, { ...PLAIN, isScope: true }).includes('-s'));
});

test('monitorLogPath() finds the path given by monitorArgs()', () => {
  const { logPath, ...silent } = plain;
  assert.equal(monitorLogPath(monitorArgs(plain, paths, PLAIN)), logPath);
  assert.equal(monitorLogPath(monitorArgs(silent, paths, PLAIN)), undefined);
});
