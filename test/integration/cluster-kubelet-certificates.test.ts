/** kubelet and Nodelet continue with each other’s certificates. */
import assert from 'node:assert/strict';
import type { ChildProcess } from 'node:child_process';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { readKubeconfig } from '../../src/app/cluster/api-server-client.ts';
import { writeBootstrappedKubeconfig } from '../../src/app/cluster/bootstrapped-kubeconfig.ts';
import { connectAsNode } from '../../src/app/cluster/cluster-certificates.ts';
import { silentLog } from '../../src/base/log.ts';
import { createLinuxHost } from '../../src/host/linux/linux-host.ts';
import { bootstrapKubeconfig, type CertificateSigner, startSigner } from './certificate-signer.ts';
import { type ControlPlane, clusterSkipReason, startControlPlane } from './cluster-fixture.ts';
import { clusterTool, clusterToolsSkipReason } from './cluster-tools.ts';
import { end, launch } from './daemon-fixture.ts';
import { until } from './until.ts';

const skip = clusterSkipReason() || clusterToolsSkipReason('kubelet');
const NODE = 'taken-over';
const OPTIONS = { userAgent: 'nodelet-test', rate: { qps: 0, burst: 0 }, environment: {} };
const host = { ...createLinuxHost(process.env), log: silentLog };
const life = new AbortController();
let plane: ControlPlane;

before(async () => {
  if (skip === false) plane = await startControlPlane();
});

after(async () => {
  life.abort();
  if (skip === false) await plane.stop();
});

test('kubelet continues with our request, we with its certificate, and it with ours', { skip }, async () => {
  const folder = join(plane.folder, NODE);
  mkdirSync(folder);
  const files = {
    nodeName: NODE,
    certDir: join(folder, 'pki'),
    kubeconfig: join(folder, 'kubelet.conf'),
    bootstrapKubeconfig: await bootstrapKubeconfig(plane),
  };
  const logPath = join(folder, 'kubelet.log');
  const log = (): string => readFileSync(logPath, 'utf8');
  const requests = async (): Promise<readonly string[]> =>
    (await plane.kubectl('get', 'csr', '-o', 'name')).split('\n').filter((line) => line !== '');

  const firstLife = new AbortController();
  const unfinished = connectAsNode({ ...files, rotateCertificates: false }, OPTIONS, host, firstLife.signal);
  await until(async () => (await requests()).length > 0);
  firstLife.abort();
  await assert.rejects(unfinished);

  let kubelet = startKubelet(folder, files);
  let signer: CertificateSigner | undefined;
  try {
    await until(() => log().includes('csr for this node is still valid'));
    signer = await startSigner(plane);
    await until(() => readFileSync(files.kubeconfig, 'utf8')); // the file is empty before it is written
    await end(kubelet, 'SIGKILL');
    assert.equal((await requests()).length, 1);
    await checkKubeconfig(folder, files);

    const client = await connectAsNode({ ...files, rotateCertificates: true }, OPTIONS, host, life.signal);
    const node = { resource: 'nodes', namespace: '', name: NODE } as const;
    await client.apiServer.create(node, { metadata: { name: NODE }, spec: {} }, life.signal);
    client.close();
    assert.equal((await requests()).length, 1);

    writeFileSync(logPath, '');
    kubelet = startKubelet(folder, files);
    await until(() => log().includes('Kubeconfig exists and is valid, skipping bootstrap'));
  } finally {
    await end(kubelet, 'SIGKILL');
    await signer?.stop();
  }
});

/** kubelet's file equals the one that we would have written. */
async function checkKubeconfig(
  folder: string,
  files: { readonly certDir: string; readonly kubeconfig: string; readonly bootstrapKubeconfig: string },
): Promise<void> {
  const { cluster } = await readKubeconfig(files.bootstrapKubeconfig, host.fs);
  const ours = join(folder, 'ours.conf');
  const pemPath = join(files.certDir, 'kubelet-client-current.pem');
  await writeBootstrappedKubeconfig(ours, { cluster, pemPath }, host.fs);
  assert.equal(readFileSync(ours, 'utf8'), readFileSync(files.kubeconfig, 'utf8'));
}

/** Without a runtime: it is not needed for certificates. */
function startKubelet(
  folder: string,
  files: { readonly certDir: string; readonly kubeconfig: string; readonly bootstrapKubeconfig: string },
): ChildProcess {
  const config = join(folder, 'config.json');
  writeFileSync(
    config,
    JSON.stringify({
      apiVersion: 'kubelet.config.k8s.io/v1beta1',
      kind: 'KubeletConfiguration',
      containerRuntimeEndpoint: `unix://${join(folder, 'missing.sock')}`,
      failSwapOn: false,
      failCgroupV1: false,
      authentication: { anonymous: { enabled: false }, webhook: { enabled: false } },
      authorization: { mode: 'AlwaysAllow' },
    }),
  );
  const args = [
    `--config=${config}`,
    `--kubeconfig=${files.kubeconfig}`,
    `--bootstrap-kubeconfig=${files.bootstrapKubeconfig}`,
    `--cert-dir=${files.certDir}`,
    `--root-dir=${join(folder, 'root')}`,
    `--hostname-override=${NODE}`,
    '--v=2',
  ];
  return launch([clusterTool('kubelet'), ...args], join(folder, 'kubelet.log'));
}
