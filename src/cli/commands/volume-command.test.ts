import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ClaimRecord } from '../../kubelet/claims/claim-record.ts';
import { ClaimStore } from '../../kubelet/claims/claim-store.ts';
import { runCommandLine } from '../command-line.ts';
import { type ScriptedContextOptions, scriptedContext } from '../fake/scripted-context.ts';

const ROOT = '/var/lib/nodelet';
const HOUR_MS = 3_600_000;
const CREATED = '1970-01-01T00:00:00Z';

function record(namespace: string, name: string, more: Partial<ClaimRecord> = {}): ClaimRecord {
  return {
    namespace,
    name,
    uid: `uid-${name}`,
    created: CREATED,
    spec: { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1Gi' } } },
    volume: { kind: 'provisioned' },
    path: `${ROOT}/volumes/${namespace}/${name}`,
    usedBy: [],
    ...more,
  };
}

/** A machine with these volumes, an hour after 1970. */
async function machine(records: readonly ClaimRecord[], options: ScriptedContextOptions = {}) {
  const { context, host, written } = scriptedContext(options);
  const { fs, lockFiles, random, clock } = host;
  await clock.advance(HOUR_MS - clock.now());
  await fs.makeDirectory(`${ROOT}/kubelet/pods/u1`);
  const store = new ClaimStore({ fs, lockFiles, random, folder: `${ROOT}/volumes`, rootDir: `${ROOT}/kubelet` });
  for (const each of records) await store.save(each);
  const run = async (...args: string[]): Promise<{ exitCode: number; stdout: string; stderr: string }> => {
    Object.assign(written, { stdout: '', stderr: '' });
    const exitCode = await runCommandLine(['volume', ...args], context);
    return { exitCode, ...written };
  };
  return { run, fs };
}

const USE = { uid: 'u1', namespace: 'default', name: 'web-box' };
const DISK = { volume: { kind: 'manifest', name: 'disk' }, path: '/srv/disk' } as const;

test('volume ls shows measured and requested sizes, pods and paths', async () => {
  const { run, fs } = await machine([record('default', 'data', { usedBy: [USE] }), record('default', 'old', DISK)]);
  await fs.writeFile(`${ROOT}/volumes/default/data/file`, 'x'.repeat(5000));
  const { exitCode, stdout, stderr } = await run('ls');
  assert.deepEqual([exitCode, stderr], [0, '']);
  const [head, data, old] = stdout.split('\n').map((line) => line.split(/ {2,}/));
  assert.deepEqual(head, ['NAME', 'USED', 'REQUESTED', 'USED BY', 'AGE', 'PATH']);
  assert.deepEqual(data, ['data', data?.[1], '1Gi', 'web-box', '60m', `${ROOT}/volumes/default/data`]);
  assert.match(data?.[1] ?? '', /^\d+\.\dkB$/);
  assert.deepEqual(old, ['old', '<none>', '1Gi', '<none>', '60m', '/srv/disk']);
});

test('volume ls has a column for namespaces where it matters, and shows one of them', async () => {
  const { run } = await machine([record('default', 'a'), record('shop', 'b')]);
  assert.match((await run('ls')).stdout, /^NAMESPACE +NAME +USED/);
  const { stdout } = await run('ls', '-n', 'shop', '-o', 'json');
  assert.deepEqual(
    JSON.parse(stdout).map(({ name }: { name: string }) => name),
    ['b'],
  );
});

test('volume ls says that there are none', async () => {
  const { run } = await machine([]);
  assert.deepEqual(await run('ls'), { exitCode: 0, stdout: '', stderr: 'No volumes found.\n' });
  assert.deepEqual(await run('ls', '-o', 'json'), { exitCode: 0, stdout: '[]\n', stderr: '' });
});

test('volume inspect shows one volume, as text and as YAML', async () => {
  const { run } = await machine([record('shop', 'data', { owner: { ...USE, namespace: 'shop' } })]);
  const { stdout } = await run('inspect', 'shop/data');
  assert.match(stdout, /^Name: +data$/m);
  assert.match(stdout, /^Created: +1970-01-01T00:00:00Z \(60m ago\)$/m);
  assert.match(stdout, /^Requested: +1Gi \(not enforced\)$/m);
  assert.match(stdout, /^Volume: +a folder of this node$/m);
  assert.match(stdout, /^Removed with: +pod web-box$/m);
  assert.match((await run('inspect', '-n', 'shop', 'data', '-o', 'yaml')).stdout, /^namespace: shop\nname: data\n/);
  const missing = 'nodelet volume: volume "default/data" not found\n';
  assert.deepEqual(await run('inspect', 'data'), { exitCode: 1, stdout: '', stderr: missing });
});

test('volume rm removes volumes and their data, but none that a pod uses', async () => {
  const { run, fs } = await machine([
    record('default', 'used', { usedBy: [USE] }),
    record('default', 'free'),
    record('default', 'old', DISK),
  ]);
  assert.deepEqual(await run('rm', 'used', 'free', 'default/old'), {
    exitCode: 1,
    stdout: 'default/free removed\ndefault/old released; the files of PersistentVolume disk stay\n',
    stderr: 'nodelet volume: volume "default/used" is in use by pod default/web-box\n',
  });
  assert.equal(await fs.stat(`${ROOT}/volumes/default/free`), undefined);
  assert.ok(await fs.stat(`${ROOT}/volumes/default/used`));
});

const wrong: Readonly<Record<string, readonly string[]>> = {
  'no name': ['rm'],
  'an empty name': ['rm', ''],
  'an empty namespace': ['rm', '/data'],
  'a path': ['rm', 'default/data/file'],
  'an unknown format': ['ls', '-o', 'wide'],
};

for (const [what, args] of Object.entries(wrong)) {
  test(`volume refuses ${what}`, async () => {
    const { run } = await machine([record('default', 'data')]);
    assert.equal((await run(...args)).exitCode, 2);
  });
}

test('volume needs root', async () => {
  const { run } = await machine([], { isRoot: false });
  const { exitCode, stderr } = await run('ls');
  assert.deepEqual([exitCode, stderr], [1, 'nodelet volume: only root can run containers; try again with sudo\n']);
});
