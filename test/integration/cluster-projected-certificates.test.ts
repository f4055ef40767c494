/** Trust bundles and certificates of pods from a real API server, with `nodelet kubelet` as the node. */
import assert from 'node:assert/strict';
import { createPrivateKey, randomBytes, X509Certificate } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import type { PodCertificateRequest } from '../../src/api/generated/core-v1.ts';
import { pemBlocks, pemText } from '../../src/base/pem.ts';
import { KEY_TYPES } from '../../src/host/signing-keys.ts';
import { EXITS_ON_SIGTERM, shell } from './agent-fixture.ts';
import { certificateFor } from './certificate-signer.ts';
import { createAuthority } from './cluster-certificates.ts';
import { podOn } from './cluster-fixture.ts';
import { type NodeletNode, nodeletNodeSkipReason, startNodeletNode } from './nodelet-node.ts';
import { becomes, until } from './until.ts';

const NODE = 'box';
const SIGNER = 'example.com/pods';
const GATES = ['ClusterTrustBundle', 'ClusterTrustBundleProjection', 'PodCertificateRequest'];
const API_SERVER_FLAGS = [
  '--runtime-config=certificates.k8s.io/v1beta1=true',
  `--feature-gates=${GATES.map((gate) => `${gate}=true`).join(',')}`,
];
const skip = nodeletNodeSkipReason();

function podOf(name: string, sources: readonly object[], spec: object = {}): object {
  return podOn(NODE, name, {
    automountServiceAccountToken: false,
    terminationGracePeriodSeconds: 1,
    containers: [{ ...shell('main', EXITS_ON_SIGTERM), volumeMounts: [{ name: 'certs', mountPath: '/certs' }] }],
    volumes: [{ name: 'certs', projected: { sources } }],
    ...spec,
  });
}

function certificate(keyType: string, files: object): object {
  return { podCertificate: { signerName: SIGNER, keyType, ...files } };
}

function bundle(name: string, trustBundle: string, spec: object = {}, labels: object = {}): object {
  const apiVersion = 'certificates.k8s.io/v1beta1';
  return { apiVersion, kind: 'ClusterTrustBundle', metadata: { name, labels }, spec: { trustBundle, ...spec } };
}

describe('trust bundles and certificates of pods', { skip }, () => {
  let node: NodeletNode;
  before(async () => {
    const featureGates = Object.fromEntries(GATES.map((gate) => [gate, true]));
    node = await startNodeletNode(NODE, async () => ({ config: { featureGates } }), API_SERVER_FLAGS);
  });
  after(() => node?.stop());

  const read = (pod: string, path: string) => node.plane.kubectl('exec', pod, '--', 'cat', `/certs/${path}`);
  const authority = () => readFileSync(node.plane.authority.caFile, 'utf8');
  const requests = async (pod: string): Promise<readonly PodCertificateRequest[]> => {
    const selector = `--field-selector=spec.podName=${pod}`;
    const { items } = JSON.parse(await node.plane.kubectl('get', 'podcertificaterequests', selector, '-ojson'));
    return items;
  };
  const pending = async (pod: string, count = 1) =>
    until(async () => {
      const open = (await requests(pod)).filter(({ status }) => (status?.conditions ?? []).length === 0);
      return open.length === count && open;
    });
  const answer = async ({ metadata }: PodCertificateRequest, type: string, status: object = {}) => {
    const lastTransitionTime = new Date().toISOString();
    const condition = { type, status: 'True', reason: 'Test', message: 'as the test says', lastTransitionTime };
    const patch = JSON.stringify({ status: { ...status, conditions: [condition] } });
    const flags = ['--subresource=status', '--type=merge', '-p', patch];
    await node.plane.kubectl('patch', 'podcertificaterequest', metadata.name, ...flags);
  };
  const issue = async (request: PodCertificateRequest): Promise<string> => {
    const der = Buffer.from(request.spec.stubPKCS10Request, 'base64');
    const pem = pemText({ label: 'CERTIFICATE REQUEST', der });
    const leaf = certificateFor(node.plane, pem, randomBytes(8));
    const { validFrom, validTo } = new X509Certificate(leaf);
    const [notBefore, notAfter] = [new Date(validFrom).toISOString(), new Date(validTo).toISOString()];
    const beginRefreshAt = new Date(Date.parse(validTo) - 20 * 60_000).toISOString();
    const certificateChain = `${leaf}${authority()}`;
    await answer(request, 'Issued', { certificateChain, notBefore, notAfter, beginRefreshAt });
    return leaf;
  };
  const events = (pod: string) =>
    node.plane.kubectl(
      'get',
      'events',
      `--field-selector=involvedObject.name=${pod}`,
      '-ojsonpath={.items[*].message}',
    );

  test('trust anchors by name and by signer, which follow their bundles', async () => {
    const other = createAuthority(join(node.plane.folder, 'other'));
    const [one, two] = [authority(), readFileSync(other.caFile, 'utf8')];
    await node.plane.apply(bundle('plain', `# text\n${one}${two}`));
    await node.plane.apply(bundle('example.com:pods:a', one, { signerName: SIGNER }, { env: 'test' }));
    await node.plane.apply(bundle('example.com:pods:b', two, { signerName: SIGNER }));
    const labelSelector = { matchLabels: { env: 'test' } };
    await node.plane.apply(
      podOf('trusting', [
        { clusterTrustBundle: { name: 'plain', path: 'plain.pem' } },
        { clusterTrustBundle: { signerName: SIGNER, labelSelector: {}, path: 'all.pem' } },
        { clusterTrustBundle: { signerName: SIGNER, labelSelector, path: 'test.pem' } },
        { clusterTrustBundle: { name: 'missing', optional: true, path: 'missing.pem' } },
      ]),
    );
    await node.plane.wait('trusting', 'condition=Ready');
    const blocks = (...texts: readonly string[]) => texts.flatMap(pemBlocks).map(pemText).toSorted();
    const anchors = async (path: string) => blocks(await read('trusting', path));
    assert.deepEqual(await anchors('plain.pem'), blocks(one, two));
    assert.deepEqual(await anchors('all.pem'), blocks(one, two));
    assert.equal(await read('trusting', 'test.pem'), pemBlocks(one).map(pemText).join(''));
    assert.equal(await read('trusting', 'missing.pem'), '');
    await node.plane.apply(bundle('missing', two));
    await becomes(() => read('trusting', 'missing.pem'), pemBlocks(two).map(pemText).join(''));
    await node.plane.kubectl('delete', 'clustertrustbundle', 'example.com:pods:b');
    await becomes(() => anchors('all.pem'), blocks(one));
    await node.plane.remove('trusting');
  });

  test('a pod waits for its trust bundle', async () => {
    await node.plane.apply(podOf('early', [{ clusterTrustBundle: { name: 'late', path: 'ca.pem' } }]));
    const message = 'while getting ClusterTrustBundle: clustertrustbundle.certificates.k8s.io "late" not found';
    await until(async () => (await events('early')).includes(message));
    await node.plane.apply(bundle('late', authority()));
    await node.plane.wait('early', 'condition=Ready');
    await node.plane.remove('early');
  });

  test('a pod waits for its certificate, whose key never leaves the node', async () => {
    const files = { credentialBundlePath: 'all.pem', keyPath: 'tls.key', certificateChainPath: 'tls.crt' };
    const more = { maxExpirationSeconds: 7200, userAnnotations: { 'example.com/role': 'web' } };
    const security = { securityContext: { runAsUser: 1000, fsGroup: 2000 } };
    await node.plane.apply(podOf('web', [certificate('ECDSAP256', { ...files, ...more })], security));
    const [request] = await pending('web');
    assert.ok(request);
    const { spec, metadata } = request;
    assert.deepEqual(
      [spec.podName, spec.nodeName, spec.serviceAccountName, spec.maxExpirationSeconds, spec.unverifiedUserAnnotations],
      ['web', NODE, 'default', 7200, { 'example.com/role': 'web' }],
    );
    assert.deepEqual(metadata.ownerReferences?.[0]?.uid, spec.podUID);
    await until(async () => (await events('web')).includes('credential bundle is not issued yet'));
    const leaf = await issue(request);
    await node.plane.wait('web', 'condition=Ready');
    const [all, key, chain] = [
      await read('web', 'all.pem'),
      await read('web', 'tls.key'),
      await read('web', 'tls.crt'),
    ];
    assert.equal(all, `${key}${chain}`);
    assert.equal(chain, [...pemBlocks(leaf), ...pemBlocks(authority())].map(pemText).join(''));
    assert.ok(new X509Certificate(chain).checkPrivateKey(createPrivateKey(key)));
    const metrics = await node.plane.kubectl('get', '--raw', `/api/v1/nodes/${NODE}/proxy/metrics`);
    assert.match(metrics, /^kubelet_podcertificate_states\{signer_name="example.com\/pods",state="fresh"\} 1$/m);
    const stat = ['exec', 'web', '--', 'stat', '-L', '-c', '%a %u %g', '/certs/tls.key'];
    assert.equal(await node.plane.kubectl(...stat), '640 1000 2000\n');
  });

  test('after a restart of the agent a pod gets a new key, and runs meanwhile', async () => {
    const key = await read('web', 'tls.key');
    await node.restart();
    const [request] = await pending('web');
    assert.ok(request);
    assert.equal(await read('web', 'tls.key'), key);
    const leaf = await issue(request);
    await until(async () => (await read('web', 'tls.key')) !== key);
    assert.ok((await read('web', 'all.pem')).endsWith(authority()));
    assert.ok(new X509Certificate(leaf).checkPrivateKey(createPrivateKey(await read('web', 'tls.key'))));
    assert.equal(await node.plane.field('web', '.status.containerStatuses[0].restartCount'), '0');
    await node.plane.remove('web');
  });

  test('the API server accepts keys of all types', async () => {
    await node.plane.apply(
      podOf(
        'keys',
        KEY_TYPES.map((type) => certificate(type, { keyPath: `${type}.key` })),
      ),
    );
    await Promise.all((await pending('keys', KEY_TYPES.length)).map(issue));
    await node.plane.wait('keys', 'condition=Ready');
    for (const type of KEY_TYPES) {
      const key = createPrivateKey(await read('keys', `${type}.key`));
      assert.ok(type.toLowerCase().includes(key.asymmetricKeyType ?? 'none'), type);
    }
    await node.plane.remove('keys');
  });

  test('a denied certificate is reported, and not requested again', async () => {
    await node.plane.apply(podOf('denied', [certificate('ED25519', { keyPath: 'tls.key' })]));
    const [request] = await pending('denied');
    assert.ok(request);
    await answer(request, 'Denied');
    const event = `PodCertificateRequest default/${request.metadata.name} was denied, reason="Test"`;
    await until(async () => (await events('denied')).includes(event));
    await until(async () => (await events('denied')).includes('PodCertificateRequest was permanently denied'));
    assert.equal((await requests('denied')).length, 1);
    await node.plane.remove('denied');
  });
});
