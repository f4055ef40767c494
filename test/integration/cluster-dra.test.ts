/** Dynamic resource allocation on a node of a real API server, with the driver with which Kubernetes tests DRA. */
import assert from 'node:assert/strict';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import type { Pod } from '../../src/api/generated/core-v1.ts';
import { BUSYBOX_IMAGE } from '../../src/app/images/local-images.ts';
import type { ClaimInfo } from '../../src/kubelet/dra/claim-info.ts';
import { decodeClaims } from '../../src/kubelet/dra/dra-checkpoint.ts';
import { type DraTestDriver, draTestDriver } from '../dra/dra-test-driver.ts';
import { type EmbeddedNode, embeddedNodeSkipReason, startEmbeddedNode } from './cluster-embedded-node.ts';
import { type ControlPlane, podOn } from './cluster-fixture.ts';
import { clusterToolsSkipReason } from './cluster-tools.ts';
import { becomes, until } from './until.ts';

const NODE = 'dra';
const DRIVER = 'gpu.example.com';

describe('resource claims', { skip: embeddedNodeSkipReason() || clusterToolsSkipReason('dra-test-driver') }, () => {
  let node: EmbeddedNode;
  let plane: ControlPlane;
  let driver: DraTestDriver;
  before(async () => {
    node = await startEmbeddedNode(NODE);
    plane = node.plane;
    const { rootDir, cdiDir } = node;
    driver = draTestDriver({ name: DRIVER, nodeName: NODE, kubeconfig: plane.kubeconfig(), rootDir, cdiDir });
  });
  after(async () => {
    await driver?.stop('SIGKILL');
    await node?.stop();
  });

  const onDisk = (): readonly ClaimInfo[] =>
    decodeClaims(readFileSync(join(node.rootDir, 'dra_manager_state'), 'utf8'));
  const slices = async (): Promise<number> =>
    (await plane.kubectl('get', 'resourceslices', '-oname')).split('\n').filter(Boolean).length;
  const uidOf = (pod: string): Promise<string> => plane.field(pod, '.metadata.uid');
  const warnings = async (pod: string): Promise<string[]> => {
    const selector = `involvedObject.name=${pod},type=Warning`;
    const { items } = JSON.parse(await plane.kubectl('get', 'events', `--field-selector=${selector}`, '-ojson'));
    return items.map(({ reason, message }: { reason: string; message: string }) => `${reason}: ${message}`);
  };
  const environment = (pod: string, container: string): Promise<string> =>
    plane.kubectl('exec', pod, '-c', container, '--', 'env');

  async function createClaim(name: string, ...requests: readonly string[]): Promise<void> {
    const devices = { requests: requests.map((each) => ({ name: each, exactly: { deviceClassName: 'gpu' } })) };
    const head = { apiVersion: 'resource.k8s.io/v1', kind: 'ResourceClaim' };
    await plane.apply({ ...head, metadata: { name, namespace: 'default' }, spec: { devices } });
  }

  /** What the scheduler does. */
  async function allocate(claim: string, pod: string, ...requests: readonly string[]): Promise<void> {
    const results = requests.map((request, index) => ({
      ...{ request, driver: DRIVER, pool: NODE, device: `device-0${index}` },
    }));
    const reservedFor = [{ resource: 'pods', name: pod, uid: await uidOf(pod) }];
    const status = JSON.stringify({ status: { allocation: { devices: { results } }, reservedFor } });
    await plane.kubectl('patch', 'resourceclaim', claim, '--subresource=status', '--type=merge', '-p', status);
  }

  const container = (name: string, resources: object): object => ({
    ...{
      name,
      image: BUSYBOX_IMAGE,
      command: ['sh', '-c', 'until [ -e /end ]; do sleep 0.1; done'],
      imagePullPolicy: 'Never',
      resources,
    },
  });
  const spec = (...containers: readonly object[]): object => ({
    ...{ containers, automountServiceAccountToken: false, terminationGracePeriodSeconds: 1 },
  });

  test('a pod waits for its driver and for the allocation of its claim, with the reasons in events', async () => {
    await createClaim('gpu', 'big', 'small');
    const uses = spec(
      container('both', { claims: [{ name: 'c' }] }),
      container('one', { claims: [{ name: 'c', request: 'small' }] }),
      container('none', {}),
    );
    await plane.apply(podOn(NODE, 'web', { ...uses, resourceClaims: [{ name: 'c', resourceClaimName: 'gpu' }] }));
    const uid = await uidOf('web');
    const prefix = 'FailedPrepareDynamicResources: Failed to prepare dynamic resources: prepare dynamic resources: ';
    await until(async () =>
      (await warnings('web')).some((each) => each.startsWith(`${prefix}pod web (${uid}) is not`)),
    );
    await allocate('gpu', 'web', 'big', 'small');
    const missing = `${prefix}DRA driver ${DRIVER} is not registered`;
    await until(async () => (await warnings('web')).includes(missing));
    assert.equal(await plane.field('web', '.status.phase'), 'Pending');
    await driver.start();
    await plane.wait('web', 'condition=Ready');
    await becomes(slices, 1);
  });

  test('each container has the devices of the claims and requests that it uses', async () => {
    const all = ['both', 'one', 'none'].map((name) => environment('web', name));
    const found = (await Promise.all(all)).map((text) => text.match(/claim_gpu_\w+/g)?.sort() ?? []);
    assert.deepEqual(found, [['claim_gpu_big', 'claim_gpu_small'], ['claim_gpu_small'], []]);
    assert.equal(driver.calls('NodePrepareResources'), 1);
    const [claim] = onDisk();
    assert.deepEqual([...(claim?.podUids ?? [])], [await uidOf('web')]);
    assert.equal(claim?.devices.get(DRIVER)?.length, 2);
  });

  test('after SIGKILL the pod goes on, nothing is prepared again, and a restarted container has its devices', async () => {
    const before = await plane.field('web', '.status.containerStatuses[*].containerID');
    const restarts = () => plane.field('web', '.status.containerStatuses[?(@.name=="one")].restartCount');
    await node.kill();
    await node.start();
    await until(async () => (await plane.kubectl('exec', 'web', '-c', 'none', '--', 'true')) === '');
    assert.equal(await plane.field('web', '.status.containerStatuses[*].containerID'), before);
    await plane.kubectl('exec', 'web', '-c', 'one', '--', 'touch', '/end');
    await until(
      async () => (await environment('web', 'one')).includes('claim_gpu_small') && (await restarts()) === '1',
    );
    assert.equal(driver.calls('NodePrepareResources'), 1);
  });

  test('extended resources that a claim provides', async () => {
    await createClaim('extended', 'container-0-request-0');
    const amounts = { 'example.com/gpu': '1' };
    const pod = podOn(
      NODE,
      'ext',
      spec(container('main', { requests: amounts, limits: amounts }), container('none', {})),
    );
    const { nodeName: _, ...unbound } = (pod as Pod).spec;
    await plane.apply({ ...pod, spec: unbound });
    await allocate('extended', 'ext', 'container-0-request-0');
    const mapping = { containerName: 'main', resourceName: 'example.com/gpu', requestName: 'container-0-request-0' };
    const extendedResourceClaimStatus = { resourceClaimName: 'extended', requestMappings: [mapping] };
    const patch = JSON.stringify({ status: { extendedResourceClaimStatus } });
    await plane.kubectl('patch', 'pod', 'ext', '--subresource=status', '--type=merge', '-p', patch);
    const binding = join(plane.folder, 'binding.json');
    const head = { apiVersion: 'v1', kind: 'Binding', metadata: { name: 'ext' } };
    writeFileSync(binding, JSON.stringify({ ...head, target: { kind: 'Node', name: NODE } }));
    await plane.kubectl('create', '--raw', '/api/v1/namespaces/default/pods/ext/binding', '-f', binding);
    await plane.wait('ext', 'condition=Ready');
    assert.match(await environment('ext', 'main'), /claim_extended_container_0_request_0=true/);
    assert.doesNotMatch(await environment('ext', 'none'), /claim_/);
    await plane.remove('ext');
    await becomes(() => onDisk().map(({ name }) => name), ['gpu']);
  });

  test('a deleted pod stays until its driver is back, and its slices are removed when the agent starts', async () => {
    await driver.stop('SIGKILL');
    await plane.kubectl('delete', 'pod', 'web', '--wait=false');
    await node.kill();
    const pool = { name: NODE, generation: 1, resourceSliceCount: 1 };
    const head = { apiVersion: 'resource.k8s.io/v1', kind: 'ResourceSlice', metadata: { name: 'old' } };
    await plane.apply({ ...head, spec: { driver: 'old.example.com', nodeName: NODE, pool, devices: [{ name: 'a' }] } });
    await node.start();
    await becomes(slices, 0);
    assert.ok(await plane.field('web', '.metadata.deletionTimestamp'));
    assert.deepEqual([onDisk().length, readdirSync(node.cdiDir).length], [1, 2]);
    const before = driver.calls('NodeUnprepareResources');
    await driver.start();
    await plane.wait('web', 'delete');
    assert.deepEqual([onDisk(), driver.calls('NodeUnprepareResources')], [[], before + 1]);
    await becomes(slices, 1);
  });

  test('a claim of a pod that ended while the agent was down is unprepared', async () => {
    await createClaim('late', 'r');
    const uses = spec(container('main', { claims: [{ name: 'c' }] }));
    await plane.apply(podOn(NODE, 'late', { ...uses, resourceClaims: [{ name: 'c', resourceClaimName: 'late' }] }));
    const files = readdirSync(node.cdiDir).length;
    await allocate('late', 'late', 'r');
    await plane.wait('late', 'condition=Ready');
    assert.equal(readdirSync(node.cdiDir).length, files + 1);
    await node.kill();
    await plane.kubectl('delete', 'pod', 'late', '--force', '--grace-period=0');
    await node.start();
    await becomes(onDisk, []);
    assert.equal(readdirSync(node.cdiDir).length, files);
  });
});
