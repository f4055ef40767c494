import assert from 'node:assert/strict';
import { test } from 'node:test';
import { silentLog } from '../../base/log.ts';
import { createMemoryHost } from '../../host/fake/memory-host.ts';
import type { ClientUser, ClusterAddress, ExecPlugin } from './client-config.ts';
import { createCredentials } from './credentials.ts';
import { PAIR_ONE, PAIR_TWO } from './fake/key-pairs.ts';

const never = new AbortController().signal;

async function setUp(user: ClientUser, cluster: Partial<ClusterAddress> = {}) {
  const host = createMemoryHost();
  await host.fs.makeDirectory('/etc');
  const warnings: string[] = [];
  const log = { ...silentLog, warn: (message: string) => void warnings.push(message) };
  const address = { server: 'https://10.0.0.1:6443', insecureSkipVerify: false, ...cluster };
  const credentials = createCredentials(
    { cluster: address, user },
    { ...host, log, environment: { PATH: '/bin', UNSET: undefined } },
  );
  return { ...host, credentials, warnings, current: () => credentials.current(never) };
}

test('configured credentials are presented, and stay the same object', async () => {
  const { credentials, current } = await setUp({ token: { token: 't' } }, { tlsServerName: 'api' });
  const identity = await current();
  assert.deepEqual(identity, { authorization: 'Bearer t', tls: { serverName: 'api' } });
  credentials.onUnauthorized(identity);
  assert.equal(await current(), identity);
});

test('user name and password are sent together', async () => {
  const { current } = await setUp({ password: { username: 'a', password: 'b:c' } });
  assert.equal((await current()).authorization, `Basic ${btoa('a:b:c')}`);
});

test('only the configured authority is trusted', async () => {
  const { current } = await setUp({}, { authority: { pem: 'CA' } });
  assert.deepEqual(await current(), { authorization: undefined, tls: { authorities: ['CA'], isExclusive: true } });
});

test('a token file is read again after a change, at most once a second', async () => {
  const { current, fs, clock } = await setUp({ token: { file: '/etc/token' } });
  await assert.rejects(current(), { code: 'ENOENT' });
  await fs.writeFile('/etc/token', ' one\n');
  const first = await current();
  assert.equal(first.authorization, 'Bearer one');
  await fs.writeFile('/etc/token', 'other');
  assert.equal(await current(), first);
  await clock.advance(1_000);
  const second = await current();
  assert.deepEqual([second.authorization, second.tls], ['Bearer other', first.tls]);
  await clock.advance(1_000);
  assert.equal(await current(), second);
});

test('a token that the server rejects is read again at once', async () => {
  const { credentials, current, fs } = await setUp({ token: { file: '/etc/token' } });
  await fs.writeFile('/etc/token', 'one');
  const first = await current();
  await fs.writeFile('/etc/token', 'other');
  credentials.onUnauthorized(first);
  const second = await current();
  assert.equal(second.authorization, 'Bearer other');
  await fs.writeFile('/etc/token', 'third');
  credentials.onUnauthorized(first); // an older identity
  assert.equal(await current(), second);
});

test('the last value of a file is used while it is empty', async () => {
  const { current, fs, clock, warnings } = await setUp({ token: { file: '/etc/token' } });
  await fs.writeFile('/etc/token', 'one');
  const first = await current();
  for (const spoil of [() => fs.writeFile('/etc/token', ' \n'), () => fs.remove('/etc/token')]) {
    await spoil();
    await clock.advance(1_000);
    assert.equal(await current(), first);
  }
  assert.equal(warnings.length, 2);
});

test('certificate and key change together', async () => {
  const files = { certificate: { file: '/etc/c' }, key: { file: '/etc/k' } };
  const { current, fs, clock } = await setUp({ certificate: files });
  await fs.writeFile('/etc/c', PAIR_ONE.certificate);
  await fs.writeFile('/etc/k', PAIR_TWO.key);
  await assert.rejects(current(), { name: 'CredentialError', message: /private key does not match public key/ });
  await fs.writeFile('/etc/k', PAIR_ONE.key);
  const first = await current();
  assert.deepEqual(first.tls, { clientCertificates: [PAIR_ONE] });
  await fs.writeFile('/etc/c', PAIR_TWO.certificate);
  await clock.advance(1_000);
  assert.equal(await current(), first);
  await fs.writeFile('/etc/k', PAIR_TWO.key);
  await clock.advance(1_000);
  assert.deepEqual((await current()).tls, { clientCertificates: [PAIR_TWO] });
});

test('one file can contain both, as kubelet-client-current.pem', async () => {
  const file = { file: '/etc/both' };
  const { current, fs } = await setUp({ certificate: { certificate: file, key: file } });
  const both = PAIR_ONE.certificate + PAIR_ONE.key;
  await fs.writeFile('/etc/both', both);
  assert.deepEqual((await current()).tls, { clientCertificates: [{ certificate: both, key: both }] });
});

const PLUGIN: ExecPlugin = {
  apiVersion: 'client.authentication.k8s.io/v1',
  command: 'who',
  args: ['-v'],
  env: { A: '1' },
  installHint: 'get it',
  cluster: { server: 'https://10.0.0.1:6443', config: null },
};

/** A plugin with these outputs, one after the other. */
async function withPlugin(...answers: (object | string)[]) {
  const world = await setUp({ plugin: PLUGIN }, { authority: { pem: 'CA' } });
  const runs: { args: readonly string[]; env: Readonly<Record<string, string>> }[] = [];
  world.processes.install('who', async ({ args, env, stdout }) => {
    runs.push({ args, env });
    const answer = answers.shift() ?? '';
    stdout(typeof answer === 'string' ? answer : JSON.stringify({ ...BASE, status: answer }));
    return 0;
  });
  return { ...world, runs };
}

const BASE = { kind: 'ExecCredential', apiVersion: PLUGIN.apiVersion };

test('a plugin gets the cluster information, and runs once for all callers', async () => {
  const { current, runs } = await withPlugin({ token: 't' });
  const [one, other] = await Promise.all([current(), current()]);
  assert.equal(one.authorization, 'Bearer t');
  assert.equal(await current(), one);
  assert.equal(other.authorization, 'Bearer t');
  const { KUBERNETES_EXEC_INFO = '', ...env } = runs[0]?.env ?? {};
  assert.deepEqual([runs.length, runs[0]?.args, env], [1, ['-v'], { PATH: '/bin', A: '1' }]);
  assert.deepEqual(JSON.parse(KUBERNETES_EXEC_INFO), {
    ...BASE,
    spec: { cluster: { ...PLUGIN.cluster, 'certificate-authority-data': btoa('CA') }, interactive: false },
  });
});

test('a plugin runs again after its credential has expired or was rejected', async () => {
  const expirationTimestamp = '2026-01-01T00:01:00Z';
  const { credentials, current, clock } = await withPlugin(
    { token: 'a', expirationTimestamp },
    { token: 'b' },
    { clientCertificateData: PAIR_ONE.certificate, clientKeyData: PAIR_ONE.key },
  );
  assert.equal((await current()).authorization, 'Bearer a');
  await clock.advance(60_001);
  const second = await current();
  assert.equal(second.authorization, 'Bearer b');
  credentials.onUnauthorized(second);
  const third = await current();
  assert.deepEqual([third.authorization, third.tls.clientCertificates], [undefined, [PAIR_ONE]]);
});

test('a plugin does not run if other credentials are configured', async () => {
  const { current, processes } = await setUp({ plugin: PLUGIN, token: { token: 't' } });
  processes.install('who', async () => assert.fail('it is asked'));
  assert.equal((await current()).authorization, 'Bearer t');
});

const faults: Record<string, { answer: object | string; message: string }> = {
  'output that is not JSON': { answer: 'secret', message: 'decoding stdout: not a JSON object' },
  'a different version': {
    answer: JSON.stringify({ apiVersion: 'client.authentication.k8s.io/v1beta1' }),
    message:
      'exec plugin is configured to use API version client.authentication.k8s.io/v1, plugin returned version client.authentication.k8s.io/v1beta1',
  },
  'an object instead of a version': {
    answer: '{"apiVersion":{"toString":1}}',
    message: 'decoding stdout: apiVersion is not a string',
  },
  'an invalid time': {
    answer: JSON.stringify({ ...BASE, status: { token: 't', expirationTimestamp: 'soon' } }),
    message: 'decoding stdout: status.expirationTimestamp is not an RFC 3339 time',
  },
  'no status': { answer: JSON.stringify(BASE), message: "exec plugin didn't return a status field" },
  nothing: { answer: {}, message: "exec plugin didn't return a token or cert/key pair" },
  'half a pair': { answer: { clientKeyData: 'k' }, message: 'exec plugin returned only certificate or key, not both' },
};

for (const [name, { answer, message }] of Object.entries(faults)) {
  test(`a plugin with ${name} is rejected`, async () => {
    const { current } = await withPlugin(answer);
    await assert.rejects(current(), { name: 'CredentialError', message });
  });
}

test('a plugin that fails or is missing is named in the error', async () => {
  const { current, processes, warnings } = await setUp({ plugin: PLUGIN });
  await assert.rejects(current(), { message: 'exec: executable who not found\n\nget it' });
  processes.install('who', async ({ stderr }) => {
    stderr('no network');
    return 7;
  });
  await assert.rejects(current(), { message: 'exec: executable who failed with exit code 7' });
  assert.equal(warnings.length, 1);
});
