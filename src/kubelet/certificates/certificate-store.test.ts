import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createMemoryHost } from '../../host/fake/memory-host.ts';
import { CertificateStore } from './certificate-store.ts';
import { selfSigned } from './self-signed.ts';

const FOLDER = '/var/lib/kubelet/pki';
const START_MS = 1_794_733_329_000;

async function setUp() {
  const host = createMemoryHost({ startMs: START_MS });
  const { fs, clock, signingKeys: keys, random } = host;
  const store = new CertificateStore({ prefix: 'kubelet-client', folder: FOLDER }, { fs, clock });
  const pair = (name: string) => selfSigned(name, [], { keys, random, nowMs: clock.now() });
  await fs.makeDirectory(FOLDER);
  return { ...host, store, one: await pair('one'), two: await pair('two') };
}

test('there is no certificate at first', async () => {
  const { store } = await setUp();
  assert.equal(await store.current(), undefined);
});

test('an update is a file named after its time, readable only for root, and a link to it', async () => {
  const { fs, clock, store, one, two } = await setUp();
  await store.update(one.certificate, one.key);
  await clock.advance(61_000);
  await store.update(two.certificate, two.key);
  assert.equal(store.currentPath, `${FOLDER}/kubelet-client-current.pem`);
  assert.equal(await fs.readLink(store.currentPath), `${FOLDER}/kubelet-client-2026-11-15-09-03-10.pem`);
  assert.deepEqual(
    (await fs.readDirectory(FOLDER)).map(({ name, kind }) => [name, kind]),
    [
      ['kubelet-client-2026-11-15-09-02-09.pem', 'file'],
      ['kubelet-client-2026-11-15-09-03-10.pem', 'file'],
      ['kubelet-client-current.pem', 'symlink'],
    ],
  );
  assert.equal((await fs.stat(store.currentPath))?.mode, 0o600);
  assert.equal(await fs.readText(store.currentPath), two.certificate + two.key);
  assert.equal((await store.current())?.certificate, two.certificate);
});

test('an interrupted update of kubelet is completed', async () => {
  const { fs, store, one } = await setUp();
  await store.update(one.certificate, one.key);
  await fs.rename(store.currentPath, `${FOLDER}/kubelet-client-updated.pem`);
  assert.equal((await store.current())?.key, one.key);
  assert.equal((await fs.lstat(store.currentPath))?.kind, 'symlink');
});

test('a leftover of an interrupted update does not block the next', async () => {
  const { fs, store, one } = await setUp();
  await fs.symbolicLink('/nowhere', `${FOLDER}/kubelet-client-updated.pem`);
  await store.update(one.certificate, one.key);
  assert.equal((await store.current())?.key, one.key);
});

test('the administrator’s files are used until there is a stored certificate, then those with the prefix', async () => {
  const { fs, clock, one, two } = await setUp();
  const given = { certificateFile: '/etc/a.crt', keyFile: '/etc/a.key' };
  const store = new CertificateStore({ prefix: 'kubelet-server', folder: FOLDER, given }, { fs, clock });
  await fs.writeFile(`${FOLDER}/kubelet-server.crt`, two.certificate);
  await fs.writeFile(`${FOLDER}/kubelet-server.key`, two.key);
  assert.equal((await store.current())?.key, two.key);
  await fs.makeDirectory('/etc');
  await fs.writeFile(given.certificateFile, one.certificate);
  await fs.writeFile(given.keyFile, one.key);
  assert.equal((await store.current())?.key, one.key);
  await store.update(two.certificate, two.key);
  assert.equal((await store.current())?.key, two.key);
});

test('invalid files are rejected', async () => {
  const { fs, store, one, two } = await setUp();
  await assert.rejects(store.update(one.certificate, two.key), { message: 'private key does not match public key' });
  assert.equal(await store.current(), undefined);
  await fs.writeFile(store.currentPath, 'nonsense');
  await assert.rejects(store.current(), { message: /could not convert data from ".*current.pem" into cert\/key pair/ });
  await assert.rejects(store.update(one.certificate, one.key), { message: /to be a symlink but it is a file/ });
});
