/** Certificates of a node from a real API server. */
import assert from 'node:assert/strict';
import { X509Certificate } from 'node:crypto';
import { existsSync, lstatSync, mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import type { NodeAddress } from '../../src/api/generated/core-v1.ts';
import {
  connectAsNode,
  type NodeApiClient,
  openServingCertificate,
} from '../../src/app/cluster/cluster-certificates.ts';
import { silentLog } from '../../src/base/log.ts';
import { createLinuxHost } from '../../src/host/linux/linux-host.ts';
import type { ApiErrorReason } from '../../src/kubelet/api-client/api-server.ts';
import { isApiError } from '../../src/kubelet/api-client/is-api-error.ts';
import { bootstrapKubeconfig, type CertificateSigner, startSigner } from './certificate-signer.ts';
import { type ControlPlane, clusterSkipReason, startControlPlane } from './cluster-fixture.ts';
import { until } from './until.ts';

const skip = clusterSkipReason();
const OPTIONS = { userAgent: 'nodelet-test', rate: { qps: 0, burst: 0 }, environment: {} };
const host = { ...createLinuxHost(process.env), log: silentLog };

let plane: ControlPlane;
let signer: CertificateSigner;
let bootstrap: string;
const life = new AbortController();

before(async () => {
  if (skip !== false) return;
  plane = await startControlPlane();
  bootstrap = await bootstrapKubeconfig(plane);
  signer = await startSigner(plane);
});

after(async () => {
  if (skip !== false) return;
  life.abort();
  await signer.stop();
  await plane.stop();
});

/** The files of one node. */
function nodeFiles(nodeName: string, { isBootstrapped }: { readonly isBootstrapped: boolean }) {
  const folder = join(plane.folder, nodeName);
  mkdirSync(folder);
  return {
    nodeName,
    certDir: join(folder, 'pki'),
    kubeconfig: join(folder, 'kubelet.conf'),
    bootstrapKubeconfig: isBootstrapped ? bootstrap : undefined,
  };
}

const keyOf = (name: string) => ({ resource: 'nodes', namespace: '', name }) as const;

/** A node may create only its own object. */
async function checkIsNode({ apiServer }: NodeApiClient, nodeName: string): Promise<void> {
  const make = (name: string) => apiServer.create(keyOf(name), { metadata: { name }, spec: {} }, life.signal);
  assert.equal((await make(nodeName)).metadata.name, nodeName);
  await assert.rejects(make(`${nodeName}-other`), (error) => isApiError(error, 'Forbidden'));
}

test('a node gets its first certificate and authenticates as the node from then on', { skip }, async () => {
  const files = nodeFiles('first', { isBootstrapped: true });
  const client = await connectAsNode({ ...files, rotateCertificates: false }, OPTIONS, host, life.signal);
  await checkIsNode(client, 'first');
  client.close();
  const current = join(files.certDir, 'kubelet-client-current.pem');
  assert.ok(lstatSync(current).isSymbolicLink());
  assert.equal(statSync(current).mode & 0o777, 0o600);
  assert.ok(!existsSync(join(files.certDir, 'kubelet-client.key.tmp')));
  assert.equal(
    await plane.kubectl('--kubeconfig', files.kubeconfig, 'get', 'node', 'first', '-o', 'name'),
    'node/first\n',
  );
  assert.match(signer.requests.at(-1)?.metadata.name ?? '', /^node-csr-/);
  const asked = signer.requests.length;
  const again = await connectAsNode({ ...files, rotateCertificates: false }, OPTIONS, host, life.signal);
  again.close();
  assert.equal(signer.requests.length, asked);
});

test('with rotation the first certificate arrives while the agent runs', { skip }, async () => {
  const files = nodeFiles('rotating', { isBootstrapped: true });
  const client = await connectAsNode({ ...files, rotateCertificates: true }, OPTIONS, host, life.signal);
  await assert.rejects(client.apiServer.get(keyOf('rotating'), life.signal), (error) =>
    isApiError(error, 'Unauthorized', 'Forbidden'),
  );
  const end = new AbortController();
  const running = client.run(end.signal);
  await until(() => isRefused(client.apiServer.get(keyOf('rotating'), life.signal), 'NotFound'));
  await checkIsNode(client, 'rotating');
  end.abort();
  await running;
  client.close();
  assert.match(readFileSync(files.kubeconfig, 'utf8'), /client-certificate: .*kubelet-client-current\.pem/);
});

test('a stronger certificate in the kubeconfig is replaced by one of the node', { skip }, async () => {
  const files = nodeFiles('strong', { isBootstrapped: false });
  const admin = JSON.parse(readFileSync(plane.kubeconfig(), 'utf8'));
  const { user } = admin.users[0];
  const data = (path: string): string => readFileSync(path).toString('base64');
  admin.users[0].user = {
    'client-certificate-data': data(user['client-certificate']),
    'client-key-data': data(user['client-key']),
  };
  writeFileSync(files.kubeconfig, JSON.stringify(admin));
  const client = await connectAsNode({ ...files, rotateCertificates: true }, OPTIONS, host, life.signal);
  const { items } = await client.apiServer.list({ resource: 'secrets' }, life.signal);
  assert.ok(Array.isArray(items));
  const end = new AbortController();
  const asked = signer.requests.length;
  const running = client.run(end.signal);
  await until(() => isRefused(client.apiServer.list({ resource: 'secrets' }, life.signal), 'Forbidden'));
  await checkIsNode(client, 'strong');
  assert.match(subjectIn(files.certDir), /system:node:strong/);
  assert.equal(signer.requests.length, asked + 1);
  end.abort();
  await running;
  client.close();
});

test('the server certificate contains the node addresses, and follows them', { skip }, async () => {
  const files = nodeFiles('serving', { isBootstrapped: true });
  const client = await connectAsNode({ ...files, rotateCertificates: false }, OPTIONS, host, life.signal);
  let addresses: readonly NodeAddress[] = [];
  let changed = (): void => undefined;
  const subscribe = (listener: () => void) => {
    changed = listener;
    return () => undefined;
  };
  const serving = await openServingCertificate(
    { ...files, serverTlsBootstrap: true, files: undefined },
    { ...host, api: client.apiServer, addresses: { current: () => addresses, subscribe } },
  );
  const end = new AbortController();
  const running = serving.run(end.signal);
  assert.equal(serving.current(), undefined);
  const authority = new X509Certificate(readFileSync(plane.authority.caFile));
  for (const address of ['127.0.0.1', '127.0.0.2']) {
    addresses = [
      { type: 'InternalIP', address },
      { type: 'Hostname', address: 'serving' },
    ];
    const next = new Promise<void>((resolve) => serving.subscribe(resolve));
    changed();
    await next;
    const certificate = new X509Certificate(serving.current()?.certificate ?? '');
    assert.equal(certificate.checkIP(address), address);
    assert.equal(certificate.checkHost('serving'), 'serving');
    assert.ok(certificate.verify(authority.publicKey));
  }
  end.abort();
  await running;
  client.close();
});

/** The user that the server sees: the certificate file is written a little before it is used. */
async function isRefused(answer: Promise<unknown>, reason: ApiErrorReason): Promise<boolean> {
  return answer.then(
    () => false,
    (error: unknown) => isApiError(error, reason),
  );
}

function subjectIn(certDir: string): string {
  return new X509Certificate(readFileSync(join(certDir, 'kubelet-client-current.pem'))).subject;
}
