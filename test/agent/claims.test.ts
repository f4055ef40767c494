/** Pods with claims: the whole agent on virtual time. The test acts as the controllers of the volumes. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { PersistentVolume, Pod, Volume } from '../../src/api/generated/core-v1.ts';
import { ApiError } from '../../src/kubelet/api-client/api-server.ts';
import { why } from '../../src/kubelet/explain/why.ts';
import { type ClusterAgent, createPod, FOREVER, phaseOf, podOf, startClusterAgent, warnings } from './memory-agent.ts';

const AT_ONCE_MS = 50;
/** The longest time between two tries. */
const RETRY_MS = 2300;
const UNABLE =
  'FailedMount: Unable to attach or mount volumes: unmounted volumes=[data], unattached volumes=[], failed to process volumes=[data]';

function podWith(volume: Omit<Volume, 'name'>): Pod {
  const containers = [{ name: 'main', image: 'busybox:1', volumeMounts: [{ name: 'data', mountPath: '/data' }] }];
  return podOf('web', { dnsPolicy: 'Default', containers, volumes: [{ name: 'data', ...volume }] });
}

const ofClaim = { persistentVolumeClaim: { claimName: 'c' } };

interface Binding {
  readonly owner?: Pod;
  readonly annotations?: Readonly<Record<string, string>>;
  readonly volume?: Partial<PersistentVolume['spec']>;
}

/** Creates a claim that is bound to a volume. */
async function bind(
  { apiServer }: ClusterAgent,
  name: string,
  { owner, annotations = {}, volume = {} }: Binding = {},
): Promise<void> {
  const { direct } = apiServer;
  const ownerReferences = owner && [
    { apiVersion: 'v1', kind: 'Pod', name: 'web', uid: owner.metadata.uid ?? '', controller: true },
  ];
  const claimKey = { resource: 'persistentvolumeclaims', namespace: 'default', name } as const;
  const metadata = { name, namespace: 'default', ...(ownerReferences && { ownerReferences }) };
  await direct.create(claimKey, { metadata, spec: { volumeName: 'pv-1' } }, FOREVER);
  const bound = { status: { phase: 'Bound' } };
  const { uid = '' } = (await direct.patch(claimKey, bound, { subresource: 'status' }, FOREVER)).metadata;
  const spec = { claimRef: { namespace: 'default', name, uid }, hostPath: { path: '/srv' }, ...volume };
  const volumeKey = { resource: 'persistentvolumes', namespace: '', name: 'pv-1' } as const;
  await direct.create(volumeKey, { metadata: { name: 'pv-1', annotations }, spec }, FOREVER);
}

function whyOf({ agent, host }: ClusterAgent): string {
  const [report] = agent.pods();
  return report ? why(report, host.clock.now()).join(' ') : '';
}

test('a pod waits for its claim, says so, and runs soon after the claim is bound', async () => {
  await using it = await startClusterAgent();
  await createPod(it, podWith(ofClaim));
  await it.host.clock.advance(30_000);
  const missing = 'failed to fetch PVC from API server: persistentvolumeclaims "c" not found';
  assert.deepEqual(warnings(it), [`${UNABLE}: error processing PVC default/c: ${missing}`]);
  assert.match(
    whyOf(it),
    /^web is not ready \(for 30 s\): volume "data" needs PersistentVolumeClaim "c", which is not ready: failed to fetch PVC/,
  );
  await bind(it, 'c');
  await it.host.clock.advance(RETRY_MS);
  assert.equal(phaseOf(it), 'Running');
});

test('a claim is not waited for forever: the sync fails and is tried again', async () => {
  await using it = await startClusterAgent();
  await createPod(it, podWith(ofClaim));
  await it.host.clock.advance(124_000);
  const events = it.agent.pods()[0]?.events ?? [];
  assert.equal(events.filter(({ reason }) => reason === 'FailedMount').length, 2);
  assert.ok(it.agent.pods()[0]?.progress?.lastError);
  await bind(it, 'c');
  await it.host.clock.advance(15_000);
  assert.equal(phaseOf(it), 'Running');
});

test('a pod that ends does not wait for its claim', async () => {
  await using it = await startClusterAgent();
  await createPod(it, podWith(ofClaim));
  await it.host.clock.advance(5000);
  await it.apiServer.direct.delete({ resource: 'pods', namespace: 'default', name: 'web' }, {}, FOREVER);
  await it.host.clock.advance(1000);
  assert.deepEqual(it.agent.pods(), []);
});

test('errors of the API server delay a pod with a claim only as long as they last', async () => {
  await using it = await startClusterAgent();
  await bind(it, 'c');
  const error = new ApiError('InternalError', 'etcdserver: leader changed');
  it.apiServer.faults.everyCall((verb, { resource }) =>
    verb === 'get' && resource === 'persistentvolumes' ? { kind: 'before', error } : undefined,
  );
  await createPod(it, podWith(ofClaim));
  await it.host.clock.advance(20_000);
  assert.equal(phaseOf(it), 'Pending');
  it.apiServer.faults.everyCall(() => undefined);
  await it.host.clock.advance(RETRY_MS);
  assert.equal(phaseOf(it), 'Running');
});

test('a volume of the wrong mode fails at once', async () => {
  await using it = await startClusterAgent();
  await bind(it, 'c', { volume: { volumeMode: 'Block' } });
  await createPod(it, podWith(ofClaim));
  await it.host.clock.advance(AT_ONCE_MS);
  assert.deepEqual(warnings(it), [`${UNABLE}: volume data has volumeMode Block, but is specified in volumeMounts`]);
  assert.ok(it.agent.pods()[0]?.progress?.lastError);
});

const ephemeral = { ephemeral: { volumeClaimTemplate: { spec: { accessModes: ['ReadWriteOnce'] } } } };

test('a generic ephemeral volume uses the claim that its controller creates for the pod', async () => {
  await using it = await startClusterAgent();
  const pod = await createPod(it, podWith(ephemeral));
  await it.host.clock.advance(500);
  assert.equal(phaseOf(it), 'Pending');
  await bind(it, 'web-data', { owner: pod });
  await it.host.clock.advance(RETRY_MS);
  assert.equal(phaseOf(it), 'Running');
});

test('a generic ephemeral volume does not use the claim of another object', async () => {
  await using it = await startClusterAgent();
  await bind(it, 'web-data');
  await createPod(it, podWith(ephemeral));
  await it.host.clock.advance(AT_ONCE_MS);
  const message = 'PVC default/web-data was not created for pod default/web (pod is not owner)';
  assert.deepEqual(warnings(it), [`${UNABLE}: ${message}`]);
});

test('containers and their sandbox have the group of a persistent volume', async () => {
  await using it = await startClusterAgent();
  await bind(it, 'c', { annotations: { 'pv.beta.kubernetes.io/gid': '4000' } });
  const pod = podWith(ofClaim);
  await createPod(it, {
    ...pod,
    spec: { ...pod.spec, securityContext: { fsGroup: 2000, supplementalGroups: [3000] } },
  });
  await it.host.clock.advance(1000);
  const [container] = it.runtime.containers.values();
  const [sandbox] = it.runtime.sandboxes.values();
  assert.deepEqual(container?.config.linux?.securityContext?.supplementalGroups, [2000n, 3000n, 4000n]);
  assert.deepEqual(sandbox?.config.linux?.securityContext?.supplementalGroups, [2000n, 4000n, 3000n]);
});

test('a running pod keeps its volume when its claim is deleted', async () => {
  await using it = await startClusterAgent();
  await bind(it, 'c');
  await createPod(it, podWith(ofClaim));
  await it.host.clock.advance(1000);
  const key = { resource: 'persistentvolumeclaims', namespace: 'default', name: 'c' } as const;
  await it.apiServer.direct.delete(key, {}, FOREVER);
  const labels = { metadata: { labels: { app: 'web' } } };
  await it.apiServer.direct.patch({ resource: 'pods', namespace: 'default', name: 'web' }, labels, {}, FOREVER);
  await it.host.clock.advance(5000);
  assert.equal(phaseOf(it), 'Running');
  const [report] = it.agent.pods();
  assert.equal(report?.progress?.lastError, undefined);
  assert.equal(it.runtime.containers.size, 1);
});
