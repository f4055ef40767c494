/** `nodelet kubelet` joins a cluster without a certificate. */
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { lstatSync, readFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { promisify } from 'node:util';
import { shell } from './agent-fixture.ts';
import { bootstrapKubeconfig, type CertificateSigner, startSigner } from './certificate-signer.ts';
import { type ControlPlane, podOn } from './cluster-fixture.ts';
import { NODELET_KUBELET, type NodeletNode, nodeletNodeSkipReason, startNodeletNode } from './nodelet-node.ts';
import { until } from './until.ts';

const NODE = 'newcomer';
const skip = nodeletNodeSkipReason();

describe('a node that joins', { skip }, () => {
  let node: NodeletNode;
  let plane: ControlPlane;
  let signer: CertificateSigner;
  before(async () => {
    node = await startNodeletNode(NODE, async (newPlane) => {
      signer = await startSigner(newPlane);
      return { bootstrapKubeconfig: await bootstrapKubeconfig(newPlane) };
    });
    ({ plane } = node);
  });
  after(async () => {
    await plane?.remove('--all').catch(() => {}); // the rest is removed with the runtime
    await signer?.stop();
    await node?.stop();
  });
  const podOf = (name: string): object =>
    podOn(NODE, name, {
      automountServiceAccountToken: false,
      terminationGracePeriodSeconds: 0,
      containers: [shell('main', 'echo hello; sleep 1000')],
    });

  test('gets a client and a server certificate, and stores them as kubelet does', async () => {
    await plane.kubectl('wait', 'csr', '--all', '--for=jsonpath={.status.certificate}', '--timeout=180s');
    const certificates = join(plane.folder, NODE, 'certs');
    assert.equal(lstatSync(join(certificates, 'kubelet-client-current.pem')).isSymbolicLink(), true);
    assert.match(readFileSync(join(plane.folder, NODE, 'kubelet.conf'), 'utf8'), /kubelet-client-current\.pem/);
  });

  test('is trusted by the API server, which reads the log of a pod, also with the next agent', async () => {
    await plane.apply(podOf('talk'));
    await plane.wait('talk', 'condition=Ready');
    const log = (): Promise<string> => plane.kubectl('logs', 'talk');
    assert.equal(await until(log), 'hello\n'); // certificate and log may arrive a little later
    await node.restart();
    assert.equal(await until(log), 'hello\n');
    assert.deepEqual(
      signer.requests.map(({ spec: { signerName } }) => signerName),
      ['kubernetes.io/kube-apiserver-client-kubelet', 'kubernetes.io/kubelet-serving'],
    );
    await plane.remove('talk');
  });

  test('exits with an error when its port is in use', async () => {
    await node.stopAgent();
    const { address, port } = JSON.parse(readFileSync(join(plane.folder, NODE, 'kubelet.json'), 'utf8'));
    const taken = createServer().listen(port, address);
    await once(taken, 'listening');
    const [program, ...kubelet] = NODELET_KUBELET;
    const stderr = new RegExp(
      `^nodelet kubelet: cannot serve the API of the node on ${address}:${port}: .*EADDRINUSE`,
      'm',
    );
    try {
      await assert.rejects(promisify(execFile)(program, [...kubelet, ...node.flags]), { code: 1, stderr });
    } finally {
      taken.close();
    }
  });
});
