/** `nodelet kubelet` that comes to a cluster with no certificate of its own. */
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { lstatSync, readFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { promisify } from 'node:util';
import { BUSYBOX_IMAGE } from '../../src/app/images/local-images.ts';
import { bootstrapKubeconfig, type CertificateSigner, startSigner } from './certificate-signer.ts';
import { type ControlPlane, clusterSkipReason, startControlPlane } from './cluster-fixture.ts';
import { type NodeletNode, nodeletNodeSkipReason, startNodeletNode } from './nodelet-node.ts';
import { runtimeSkipReason, startRuntime, type TestRuntime } from './runtime-fixture.ts';

const BIN = join(import.meta.dirname, '../../bin/nodelet');
const NODE = 'newcomer';
const skip = clusterSkipReason() || runtimeSkipReason() || nodeletNodeSkipReason();

describe('a node that joins', { skip }, () => {
  let plane: ControlPlane;
  let runtime: TestRuntime;
  let signer: CertificateSigner;
  let node: NodeletNode;
  before(async () => {
    [plane, runtime] = await Promise.all([startControlPlane(), startRuntime()]);
    signer = await startSigner(plane);
    node = await startNodeletNode(plane, runtime, NODE, { bootstrapKubeconfig: await bootstrapKubeconfig(plane) });
  });
  after(async () => {
    await plane?.kubectl('delete', 'pods', '--all', '--timeout=60s').catch(() => {}); // the rest goes with the runtime
    await node?.stop();
    await signer?.stop();
    await runtime?.stop();
    await plane?.stop();
  });
  const podOf = (name: string): object => ({
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name, namespace: 'default' },
    spec: {
      nodeName: NODE,
      automountServiceAccountToken: false,
      terminationGracePeriodSeconds: 0,
      containers: [{ name: 'main', image: BUSYBOX_IMAGE, command: ['sh', '-c', 'echo hello; sleep 1000'] }],
    },
  });

  test('gets the certificate of a client and of a server, and keeps them as kubelet does', async () => {
    await plane.kubectl('wait', 'csr', '--all', '--for=jsonpath={.status.certificate}', '--timeout=60s');
    const certificates = join(plane.folder, NODE, 'certs');
    assert.equal(lstatSync(join(certificates, 'kubelet-client-current.pem')).isSymbolicLink(), true);
    assert.match(readFileSync(join(plane.folder, NODE, 'kubelet.conf'), 'utf8'), /kubelet-client-current\.pem/);
  });

  test('is trusted by the API server, which gets the log of a pod, also from the next agent', async () => {
    await plane.apply(podOf('talk'));
    await plane.kubectl('wait', 'pod/talk', '--for=condition=Ready', '--timeout=60s');
    assert.equal(await plane.kubectl('logs', 'talk'), 'hello\n');
    await node.restart();
    await plane.kubectl('annotate', 'pod', 'talk', 'seen=again');
    assert.deepEqual(
      signer.requests.map(({ spec: { signerName } }) => signerName),
      ['kubernetes.io/kube-apiserver-client-kubelet', 'kubernetes.io/kubelet-serving'],
    );
    await plane.kubectl('delete', 'pod', 'talk', '--timeout=60s');
  });

  test('ends when somebody else has its port, and says so', async () => {
    await node.stop();
    const folder = join(plane.folder, NODE);
    const config = join(folder, 'kubelet.json');
    const { address, port } = JSON.parse(readFileSync(config, 'utf8'));
    const taken = createServer().listen(port, address);
    await once(taken, 'listening');
    const args = ['kubelet', `--config=${config}`, `--root-dir=${folder}/root`, `--cert-dir=${folder}/certs`];
    const stderr = new RegExp(
      `^nodelet kubelet: cannot serve the API of the node on ${address}:${port}: .*EADDRINUSE`,
      'm',
    );
    try {
      await assert.rejects(promisify(execFile)(BIN, args), { code: 1, stderr });
    } finally {
      taken.close();
    }
  });
});
