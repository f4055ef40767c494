import assert from 'node:assert/strict';
import { test } from 'node:test';
import { certificateScene, FOLDER } from '../../kubelet/certificates/fake/certificate-scene.ts';
import { selfSigned } from '../../kubelet/certificates/self-signed.ts';
import { type NodeAddresses, openServingCertificate } from './cluster-certificates.ts';

const SETTINGS = { nodeName: 'box', certDir: FOLDER, serverTlsBootstrap: false, files: undefined };
const HERE: NodeAddresses = {
  current: () => [{ type: 'InternalIP', address: '10.0.0.7' }],
  subscribe: () => () => undefined,
};

async function setUp() {
  const scene = await certificateScene();
  return { ...scene, deps: { ...scene, api: scene.server, addresses: HERE } };
}

test('a node without configured certificates signs its own, once', async () => {
  const { deps, life, signer, clock } = await setUp();
  const serving = await openServingCertificate(SETTINGS, deps);
  const again = await openServingCertificate(SETTINGS, deps);
  assert.ok(serving.current());
  assert.deepEqual(again.current(), serving.current());
  const ended = serving.run(life.signal);
  await clock.advance(60_000);
  assert.equal(signer.requests.length, 0);
  life.abort();
  await ended;
});

test('configured files are served unchanged and must exist', async () => {
  const { deps, fs, clock, life } = await setUp();
  const files = { certificateFile: '/pki/a.crt', keyFile: '/pki/a.key' };
  await assert.rejects(openServingCertificate({ ...SETTINGS, files }, deps), { code: 'ENOENT' });
  const { certificate, key } = await selfSigned('a', [], { ...deps, nowMs: clock.now() });
  await fs.makeDirectory('/pki');
  await fs.writeFile(files.certificateFile, certificate);
  await fs.writeFile(files.keyFile, key);
  const serving = await openServingCertificate({ ...SETTINGS, files }, deps);
  assert.equal(serving.current()?.certificate, certificate);
  assert.equal(await fs.stat(`${FOLDER}/kubelet.crt`), undefined);
  life.abort();
});

test('with serverTLSBootstrap there is no certificate before the cluster has signed one', async () => {
  const { deps, clock, life, signer, fs } = await setUp();
  const serving = await openServingCertificate({ ...SETTINGS, serverTlsBootstrap: true }, deps);
  assert.equal(serving.current(), undefined);
  const ended = serving.run(life.signal);
  await clock.advance(0);
  assert.ok(serving.current());
  assert.equal(signer.requests[0]?.spec.signerName, 'kubernetes.io/kubelet-serving');
  assert.equal((await fs.lstat(`${FOLDER}/kubelet-server-current.pem`))?.kind, 'symlink');
  life.abort();
  await ended;
});
