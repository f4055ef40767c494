/** Trust bundles and certificates of pods: the whole agent on virtual time. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Pod, PodCertificateRequest, PodSpec, VolumeProjection } from '../../src/api/generated/core-v1.ts';
import type { AgentSettings } from '../../src/app/agent.ts';
import { silentLog } from '../../src/base/log.ts';
import { pemText } from '../../src/base/pem.ts';
import { formatTime } from '../../src/base/rfc3339.ts';
import { why } from '../../src/kubelet/explain/why.ts';
import {
  createPod,
  FOREVER,
  type MemoryAgent,
  newClusterWorld,
  phaseOf,
  podOf,
  SETTINGS,
  startAgent,
  type World,
  warnings,
} from './memory-agent.ts';
import { NODE } from './node-world.ts';

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const AT_ONCE_MS = 100;
const SIGNER = 'example.com/pods';
const BUNDLE = { resource: 'clustertrustbundles', namespace: '', name: 'corp' } as const;
const GATES = { clusterTrustBundleProjection: true, podCertificateRequest: true };

const anchor = (value: number): string => pemText({ label: 'CERTIFICATE', der: Uint8Array.of(value) });
const trust: VolumeProjection = { clusterTrustBundle: { name: 'corp', path: 'ca.pem' } };
const certificate: VolumeProjection = {
  podCertificate: { signerName: SIGNER, keyType: 'ED25519', keyPath: 'tls.key', certificateChainPath: 'tls.crt' },
};

function podWith(...sources: readonly VolumeProjection[]): Pod {
  const spec: Partial<PodSpec> = {
    serviceAccountName: 'default',
    dnsPolicy: 'Default',
    containers: [{ name: 'main', image: 'busybox:1', volumeMounts: [{ name: 'certs', mountPath: '/certs' }] }],
    volumes: [{ name: 'certs', projected: { defaultMode: 0o644, sources } }],
  };
  return podOf('web', spec);
}

async function start(settings: Partial<AgentSettings> = GATES, world?: Required<World>) {
  const its = world ?? (await newClusterWorld());
  if (!world) {
    const account = { resource: 'serviceaccounts', namespace: 'default', name: 'default' } as const;
    await its.apiServer.direct.create(account, { metadata: { name: 'default' } }, FOREVER);
  }
  const agent = await startAgent(its, settings, silentLog, [], { node: NODE });
  agent.source.set();
  return { ...agent, apiServer: its.apiServer, world: its };
}

async function create(it: Required<World>, pod: Pod): Promise<string> {
  const { metadata } = await createPod(it, pod);
  return `${SETTINGS.rootDir}/pods/${metadata.uid}/volumes/kubernetes.io~projected/certs`;
}

function setBundle({ apiServer }: Required<World>, trustBundle: string): Promise<unknown> {
  const { direct } = apiServer;
  const object = { metadata: { name: BUNDLE.name }, spec: { trustBundle } };
  return direct
    .patch(BUNDLE, { spec: { trustBundle } }, {}, FOREVER)
    .catch(() => direct.create(BUNDLE, object, FOREVER));
}

async function requests({ apiServer }: Required<World>): Promise<readonly PodCertificateRequest[]> {
  return (await apiServer.direct.list({ resource: 'podcertificaterequests' }, FOREVER)).items;
}

/** Answers all open requests with certificates of one day, to be renewed after one hour. */
async function issue(it: Required<World>, value: number): Promise<void> {
  const nowMs = it.host.clock.now();
  const open = (await requests(it)).filter(({ status }) => (status?.conditions ?? []).length === 0);
  for (const { metadata } of open) {
    const key = { resource: 'podcertificaterequests', namespace: 'default', name: metadata.name } as const;
    const lastTransitionTime = formatTime(nowMs);
    const status = {
      certificateChain: anchor(value),
      notBefore: formatTime(nowMs),
      beginRefreshAt: formatTime(nowMs + HOUR_MS),
      notAfter: formatTime(nowMs + 24 * HOUR_MS),
      conditions: [{ type: 'Issued', status: 'True', reason: 'Test', message: 'issued', lastTransitionTime }],
    };
    await it.apiServer.direct.patch(key, { status }, { subresource: 'status' }, FOREVER);
  }
}

function whyOf({ agent, host }: MemoryAgent): readonly string[] {
  const [report = assert.fail('no pod')] = agent.pods();
  return why(report, host.clock.now());
}

test('a pod waits for its trust bundle, and follows it', async () => {
  await using it = await start();
  const { clock, fs } = it.host;
  const folder = await create(it, podWith(trust));
  await clock.advance(5 * MINUTE_MS);
  assert.equal(phaseOf(it), 'Pending');
  const notFound = 'while getting ClusterTrustBundle: clustertrustbundle.certificates.k8s.io "corp" not found';
  assert.deepEqual(warnings(it), [`FailedMount: MountVolume.SetUp failed for volume "certs" : ${notFound}`]);
  const said = whyOf(it);
  assert.match(said[0] ?? '', /: volume "certs" cannot be prepared\.$/);
  assert.match(said[1] ?? '', /: volume "certs" needs ClusterTrustBundle "corp", which does not exist\.$/);
  await setBundle(it, anchor(1));
  await clock.advance(AT_ONCE_MS);
  assert.equal(phaseOf(it), 'Running');
  assert.equal(await fs.readText(`${folder}/ca.pem`), anchor(1));
  await setBundle(it, anchor(2));
  await clock.advance(AT_ONCE_MS);
  assert.equal(await fs.readText(`${folder}/ca.pem`), anchor(2));
});

test('a pod waits for its certificate, and gets each renewal', async () => {
  await using it = await start();
  const { clock, fs } = it.host;
  const folder = await create(it, podWith(certificate));
  await clock.advance(MINUTE_MS);
  assert.equal(phaseOf(it), 'Pending');
  const message = 'MountVolume.SetUp failed for volume "certs" : credential bundle is not issued yet';
  assert.deepEqual(warnings(it), [`FailedMount: ${message}`]);
  const said = whyOf(it).join(' ');
  assert.match(said, /volume "certs" needs a certificate of signer "example.com\/pods", which has not issued it yet\./);
  assert.match(said, /The signer has to answer PodCertificateRequest default\/req-[a-z0-9]+\./);
  await issue(it, 1);
  await clock.advance(AT_ONCE_MS);
  assert.equal(phaseOf(it), 'Running');
  const key = await fs.readText(`${folder}/tls.key`);
  assert.equal(await fs.readText(`${folder}/tls.crt`), anchor(1));
  await clock.advance(HOUR_MS + 6 * MINUTE_MS);
  assert.equal((await requests(it)).length, 2);
  assert.equal(await fs.readText(`${folder}/tls.key`), key);
  await issue(it, 2);
  await clock.advance(AT_ONCE_MS);
  assert.equal(await fs.readText(`${folder}/tls.crt`), anchor(2));
  assert.notEqual(await fs.readText(`${folder}/tls.key`), key);
});

test('a signer that answers within a second delays nothing, and no warning is recorded', async () => {
  await using it = await start();
  await create(it, podWith(certificate));
  await it.host.clock.advance(500);
  await issue(it, 1);
  await it.host.clock.advance(AT_ONCE_MS);
  assert.equal(phaseOf(it), 'Running');
  assert.deepEqual(warnings(it), []);
});

test('a restarted agent requests a new certificate, and the container runs meanwhile', async () => {
  const first = await start();
  const folder = await create(first, podWith(certificate));
  await first.host.clock.advance(AT_ONCE_MS);
  await issue(first, 1);
  await first.host.clock.advance(AT_ONCE_MS);
  assert.equal(phaseOf(first), 'Running');
  const key = await first.host.fs.readText(`${folder}/tls.key`);
  await first.stop();
  await using it = await start(GATES, first.world);
  await it.host.clock.advance(MINUTE_MS);
  assert.equal((await requests(it)).length, 2);
  assert.equal(await it.host.fs.readText(`${folder}/tls.key`), key);
  await issue(it, 2);
  await it.host.clock.advance(AT_ONCE_MS);
  assert.notEqual(await it.host.fs.readText(`${folder}/tls.key`), key);
  assert.equal(phaseOf(it), 'Running');
  assert.deepEqual(
    it.agent.pods()[0]?.status.containerStatuses?.map(({ restartCount }) => restartCount),
    [0],
  );
});

test('with the feature gates off, pods wait with the messages of kubelet', async () => {
  await using it = await start({});
  await create(it, podWith(trust, certificate));
  await it.host.clock.advance(MINUTE_MS);
  assert.equal(phaseOf(it), 'Pending');
  const errors = '[ClusterTrustBundle projection is not supported in static kubelet mode, unimplemented]';
  assert.deepEqual(warnings(it), [`FailedMount: MountVolume.SetUp failed for volume "certs" : ${errors}`]);
  assert.deepEqual(await requests(it), []);
});
