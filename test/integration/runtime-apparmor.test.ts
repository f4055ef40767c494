/**
 * The default AppArmor profile with real files and a real program: a directory stands for the root of a machine with
 * AppArmor. The profile itself is checked by apparmor_parser where it is installed; its kernel is not needed.
 */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { silentLog } from '../../src/base/log.ts';
import { createLinuxHost } from '../../src/host/linux/linux-host.ts';
import { APPARMOR_INCLUDES, appArmorProfileText } from '../../src/runtime/spec/default-apparmor-profile.ts';
import { AppArmorLoader } from '../../src/runtime/spec/load-apparmor-profile.ts';

const PARSER = ['/sbin/apparmor_parser', '/usr/sbin/apparmor_parser'].find((path) => existsSync(path));

/** Loads the profile that it reads, as the real one. */
const WORKING = `#!/bin/sh
[ "$*" = -Kr ] || exit 64
name=$(sed -n 's/^profile \\([^ ]*\\) .*/\\1/p')
echo "$name (enforce)" >> "$(dirname "$0")/../sys/kernel/security/apparmor/profiles"
`;
const FAILING = `#!/bin/sh
echo 'Access denied. You need policy admin privileges to manage profiles.' >&2
exit 1
`;

function machine(t: TestContext, parser: string | undefined) {
  const root = mkdtempSync(join(tmpdir(), 'nodelet-apparmor-'));
  t.after(() => rmSync(root, { recursive: true, force: true }));
  const write = (path: string, text: string, mode = 0o644): void => {
    mkdirSync(dirname(join(root, path)), { recursive: true });
    writeFileSync(join(root, path), text, { mode });
  };
  write('sys/kernel/security/apparmor/profiles', 'man (enforce)\n');
  write('proc/self/attr/current', 'unconfined\n');
  if (parser !== undefined) write('sbin/apparmor_parser', parser, 0o755);
  const recordPath = join(root, 'record');
  const host = createLinuxHost(process.env);
  return { root, recordPath, appArmor: new AppArmorLoader({ ...host, log: silentLog, recordPath, machineRoot: root }) };
}

test('the default AppArmor profile is loaded by a program and recorded', async (t) => {
  const { appArmor, recordPath } = machine(t, WORKING);
  assert.deepEqual(await appArmor.refresh(), {
    loaded: new Set(['man', 'nodelet-default']),
    byDefault: { kind: 'applied', profile: 'nodelet-default' },
  });
  const text = appArmorProfileText({ includes: new Set(), ownProfile: 'unconfined' });
  assert.equal(readFileSync(recordPath, 'utf8'), text);
});

test('a profile that cannot be loaded has its reason', async (t) => {
  const { appArmor, root, recordPath } = machine(t, FAILING);
  assert.deepEqual((await appArmor.refresh()).byDefault, {
    kind: 'missing',
    reason: `cannot load AppArmor profile nodelet-default: ${root}/sbin/apparmor_parser ended with exit code 1: Access denied. You need policy admin privileges to manage profiles.`,
  });
  assert.equal(existsSync(recordPath), false);
});

test('a machine without the parser has no default profile', async (t) => {
  const { byDefault } = await machine(t, undefined).appArmor.refresh();
  assert.match(byDefault.kind === 'missing' ? byDefault.reason : '', /apparmor_parser is not installed/);
});

test('apparmor_parser accepts the profile', { skip: PARSER === undefined && 'not installed: apparmor' }, () => {
  const installed = APPARMOR_INCLUDES.filter((name) => existsSync(`/etc/apparmor.d/${name}`));
  for (const includes of [new Set<string>(), new Set<string>(installed)]) {
    const input = appArmorProfileText({ includes, ownProfile: '/usr/bin/nodelet' });
    const { status, stderr } = spawnSync(PARSER ?? '', ['-QK'], { input, encoding: 'utf8' });
    assert.equal(status, 0, stderr);
  }
});
