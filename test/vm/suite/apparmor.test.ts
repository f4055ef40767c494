/** AppArmor: the default profile of the runtime in a real kernel. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, suite, test } from 'node:test';
import { BUSYBOX, NODELET } from '../nodelet-program.ts';
import { systemdSkipReason } from '../systemd-skip.ts';

const PROFILES = '/sys/kernel/security/apparmor/profiles';
const skip = systemdSkipReason() || (existsSync(PROFILES) ? false : 'the kernel does not use AppArmor');

/** The profile that each container runs with, and what it may not do. */
const CONTAINERS = {
  unset: { context: {}, profile: 'nodelet-default (enforce)' },
  runtimedefault: {
    context: { appArmorProfile: { type: 'RuntimeDefault' } },
    profile: 'nodelet-default (enforce)',
  },
  unconfined: { context: { appArmorProfile: { type: 'Unconfined' } }, profile: 'unconfined' },
} as const;

suite('AppArmor', { skip, timeout: 1_200_000 }, () => {
  const folder = mkdtempSync(join(tmpdir(), 'nodelet-apparmor-'));
  after(() => rmSync(folder, { recursive: true, force: true }));

  test('containers run with the default profile, unless they ask for none', () => {
    const containers = Object.entries(CONTAINERS).map(([name, { context }]) => {
      // SYS_ADMIN passes the seccomp filter and the kernel's own check: what is left is AppArmor's.
      const securityContext = { ...context, capabilities: { add: ['SYS_ADMIN'] } };
      const script = 'cat /proc/self/attr/current; mount -t tmpfs none /mnt && echo mounted || echo denied';
      return { name, image: BUSYBOX, command: ['sh', '-c', `mkdir -p /mnt; ${script}`], securityContext };
    });
    const spec = { hostNetwork: true, restartPolicy: 'Never', containers };
    const manifest = join(folder, 'pod.yaml');
    writeFileSync(manifest, JSON.stringify({ apiVersion: 'v1', kind: 'Pod', metadata: { name: 'profiles' }, spec }));
    const [program, ...args] = NODELET;
    const { status, stdout, stderr } = spawnSync(program, [...args, 'run', '--once', manifest], { encoding: 'utf8' });
    const output = `${stdout}${stderr}`;
    assert.equal(status, 0, output);
    for (const [name, { profile }] of Object.entries(CONTAINERS)) {
      const lines = output
        .split('\n')
        .filter((line) => line.includes(`profiles/${name} |`))
        .map((line) => line.replace(/^.*\| /, ''));
      const mounts = profile === 'unconfined' ? 'mounted' : 'denied';
      assert.deepEqual([lines[0], lines.at(-1)], [profile, mounts], output);
    }
    assert.match(readFileSync(PROFILES, 'utf8'), /^nodelet-default \(enforce\)$/m);
  });
});
