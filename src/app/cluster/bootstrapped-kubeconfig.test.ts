import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createMemoryHost } from '../../host/fake/memory-host.ts';
import { selfSigned } from '../../kubelet/certificates/self-signed.ts';
import { unusableReason, writeBootstrappedKubeconfig } from './bootstrapped-kubeconfig.ts';

const PATH = '/etc/kubernetes/kubelet.conf';
const PEM = '/pki/kubelet-client-current.pem';
const CLUSTER = { server: 'https://10.0.0.1:6443', insecureSkipVerify: false, authority: { file: '/pki/ca.crt' } };

async function setUp() {
  const host = createMemoryHost();
  const { fs, clock, signingKeys: keys, random } = host;
  await fs.makeDirectory('/pki');
  await fs.writeFile('/pki/ca.crt', 'authority');
  const { certificate, key } = await selfSigned('box', [], { keys, random, nowMs: clock.now() });
  await fs.writeFile(PEM, certificate + key);
  return { ...host, certificate, key };
}

test('writeBootstrappedKubeconfig() writes what kubelet writes, readable only by the owner', async () => {
  const { fs } = await setUp();
  await writeBootstrappedKubeconfig(PATH, { cluster: CLUSTER, pemPath: PEM }, fs);
  assert.equal((await fs.stat(PATH))?.mode, 0o600);
  assert.equal(
    await fs.readText(PATH),
    `apiVersion: v1
clusters:
- cluster:
    certificate-authority: /pki/ca.crt
    server: https://10.0.0.1:6443
  name: default-cluster
contexts:
- context:
    cluster: default-cluster
    namespace: default
    user: default-auth
  name: default-context
current-context: default-context
kind: Config
users:
- name: default-auth
  user:
    client-certificate: ${PEM}
    client-key: ${PEM}
`,
  );
});

test('unusableReason() accepts a certificate that is not expired', async () => {
  const { fs, clock } = await setUp();
  assert.equal(await unusableReason(PATH, { fs, clock }), 'it does not exist');
  await writeBootstrappedKubeconfig(PATH, { cluster: CLUSTER, pemPath: PEM }, fs);
  assert.equal(await unusableReason(PATH, { fs, clock }), undefined);
  clock.jump(366 * 24 * 3600_000);
  assert.equal(await unusableReason(PATH, { fs, clock }), 'part of its client certificate is expired');
});

test('unusableReason() rejects an invalid kubeconfig, certificate or key', async () => {
  const { fs, clock, certificate } = await setUp();
  await writeBootstrappedKubeconfig(PATH, { cluster: CLUSTER, pemPath: PEM }, fs);
  await fs.writeFile(PEM, certificate);
  assert.match((await unusableReason(PATH, { fs, clock })) ?? '', /no private key/);
  await fs.remove(PEM);
  assert.match((await unusableReason(PATH, { fs, clock })) ?? '', /unable to read client-cert/);
  await fs.writeFile(PATH, 'clusters: [');
  assert.match((await unusableReason(PATH, { fs, clock })) ?? '', /cannot parse YAML/);
  const config = { contexts: [{ name: 'x', context: { cluster: 'c', user: 'u' } }], 'current-context': 'x' };
  const clusters = [{ name: 'c', cluster: { server: 'https://10.0.0.1' } }];
  const users = [{ name: 'u', user: { token: 't' } }];
  await fs.writeFile(PATH, JSON.stringify({ ...config, clusters, users }));
  assert.equal(await unusableReason(PATH, { fs, clock }), 'it has no client certificate');
});
