import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Pod, ResourceRequirements } from '../../api/generated/core-v1.ts';
import { byCodePoint } from '../../base/code-point-order.ts';
import { silentLog } from '../../base/log.ts';
import { MemoryFileSystem } from '../../host/fake/memory-file-system.ts';
import { examplePod } from '../sync/config/pod.fixture.ts';
import { ACTUATED_BY_KUBELET, ALLOCATED_BY_KUBELET } from './kubelet-state.fixture.ts';
import { ResourceRecords } from './resource-records.ts';
import { decodeResources } from './resources-checkpoint.ts';

const ROOT = '/var/lib/kubelet';
const ALLOCATED = `${ROOT}/allocated_pods_state`;
const ACTUATED = `${ROOT}/actuated_pods_state`;
const SMALL: ResourceRequirements = { requests: { cpu: '50m' } };
const LARGE: ResourceRequirements = { requests: { cpu: '70m' } };

function podWith(resources: ResourceRequirements, uid = 'u1'): Pod {
  return examplePod({ metadata: { uid }, container: { resources } });
}

function mainOf(pod: Pod) {
  const [main] = pod.spec.containers;
  assert.ok(main);
  return main;
}

/** Records the paths of writes. */
class Disk extends MemoryFileSystem {
  readonly writes: string[] = [];

  override async writeAtomic(...write: Parameters<MemoryFileSystem['writeAtomic']>): Promise<void> {
    this.writes.push(write[0].slice(ROOT.length + 1));
    await super.writeAtomic(...write);
  }

  records(): Promise<ResourceRecords> {
    return ResourceRecords.read({ fs: this, log: silentLog, settings: { rootDir: ROOT } });
  }

  async pods(path: string): Promise<ReturnType<typeof decodeResources>> {
    return decodeResources(await this.readText(path));
  }
}

function newDisk(): Disk {
  return new Disk(() => 0);
}

async function diskOfKubelet(): Promise<Disk> {
  const disk = newDisk();
  await disk.makeDirectory(ROOT);
  await disk.writeFile(ALLOCATED, ALLOCATED_BY_KUBELET);
  await disk.writeFile(ACTUATED, ACTUATED_BY_KUBELET);
  return disk;
}

test('a pod runs with its allocation, whatever its spec asks for, also in the next process', async () => {
  const disk = newDisk();
  const records = await disk.records();
  const [small, large] = [podWith(SMALL), podWith(LARGE)];
  assert.equal(records.allocated(large), large);
  records.allocate(small);
  assert.deepEqual(records.allocated(large), small);
  await records.recordActuated(small, mainOf(small));
  assert.deepEqual((await disk.records()).allocated(large), small);
});

test('both files are on disk before a container is created, readable only for root', async () => {
  const disk = newDisk();
  const records = await disk.records();
  const pod = podWith(SMALL);
  records.allocate(pod);
  await records.prepare(pod);
  await records.recordActuated(pod, mainOf(pod));
  const given = new Map([['u1', { containers: new Map([['web', SMALL]]) }]]);
  assert.deepEqual([await disk.pods(ALLOCATED), await disk.pods(ACTUATED)], [given, given]);
  assert.equal(((await disk.stat(ALLOCATED))?.mode ?? 0) & 0o777, 0o600);
});

test('a hundred pods at once cost a few writes, and unchanged records none', async () => {
  const disk = newDisk();
  const records = await disk.records();
  const pods = Array.from({ length: 100 }, (_, index) => podWith(SMALL, `u${index}`));
  for (const pod of pods) records.allocate(pod);
  await Promise.all(pods.map((pod) => records.prepare(pod)));
  await Promise.all(pods.map((pod) => records.recordActuated(pod, mainOf(pod))));
  assert.deepEqual(disk.writes.toSorted(byCodePoint), ['actuated_pods_state', 'allocated_pods_state']);

  const next = await disk.records();
  for (const pod of pods) next.allocate(pod);
  await Promise.all(pods.map((pod) => next.prepare(pod)));
  await Promise.all(pods.map((pod) => next.recordActuated(pod, mainOf(pod))));
  assert.equal(disk.writes.length, 2);
});

test('kubelet’s files are read, and not rewritten if nothing changes', async () => {
  const disk = await diskOfKubelet();
  const records = await disk.records();
  const uid = '4b29b571-61dc-4d62-89bc-ab2d2fafd5e2';
  const resources = { limits: { memory: '64Mi' }, requests: { cpu: '70m', memory: '16Mi' } };
  const pod = examplePod({ metadata: { uid }, container: { name: 'main', resources } });
  assert.equal(records.allocated(pod), pod);
  records.allocate(pod);
  await records.prepare(pod);
  await records.recordActuated(pod, mainOf(pod));
  assert.deepEqual(disk.writes, []);
});

test('a container keeps its actuated resources when the allocation changes', async () => {
  const records = await newDisk().records();
  const [small, large] = [podWith(SMALL), podWith(LARGE)];
  await records.prepare(small);
  records.allocate(large);
  await records.prepare(large);
  assert.deepEqual(records.actuated('u1')?.containers.get('web'), SMALL);
  await records.recordActuated(large, mainOf(large));
  assert.deepEqual(records.actuated('u1')?.containers.get('web'), LARGE);
});

test('the actuated pod-level resources are recorded', async () => {
  const disk = newDisk();
  const records = await disk.records();
  const whole = (cpu: string): Pod => examplePod({ spec: { resources: { limits: { cpu } } } });
  await records.prepare(whole('1'));
  assert.deepEqual(records.actuated('u1')?.pod, { limits: { cpu: '1' } });
  await records.recordPodActuated(whole('2'));
  assert.deepEqual((await disk.pods(ACTUATED)).get('u1')?.pod, { limits: { cpu: '2' } });
});

test('nothing is left of a removed pod', async () => {
  const disk = newDisk();
  const records = await disk.records();
  const pods = [podWith(SMALL, 'a'), podWith(SMALL, 'b'), podWith(SMALL, 'c')];
  for (const pod of pods) records.allocate(pod);
  await Promise.all(pods.map((pod) => records.prepare(pod)));
  records.deallocate('a');
  await records.purge(podWith(SMALL, 'a'));
  records.retainOnly(new Set(['b']));
  const b = podWith(LARGE, 'b');
  await records.recordActuated(b, mainOf(b));
  assert.deepEqual([...(await disk.pods(ALLOCATED)).keys()], ['b']);
  assert.deepEqual([...(await disk.pods(ACTUATED)).keys()], ['b']);
});

test('a UID that comes back while its pod terminates keeps its new allocation', async () => {
  const records = await newDisk().records();
  records.allocate(podWith(SMALL));
  records.deallocate('u1');
  records.allocate(podWith(LARGE));
  await records.purge(podWith(SMALL));
  assert.deepEqual(records.allocated(podWith(SMALL)), podWith(LARGE));
});

test('no container is created while the record cannot be written; the next attempt writes again', async () => {
  const disk = newDisk();
  const records = await disk.records();
  const pod = podWith(SMALL);
  disk.isFull = true;
  records.allocate(pod);
  await records.prepare(pod);
  await assert.rejects(records.recordActuated(pod, mainOf(pod)), { code: 'ENOSPC' });
  disk.isFull = false;
  await records.recordActuated(pod, mainOf(pod));
  assert.deepEqual([...(await disk.pods(ALLOCATED)).keys(), ...(await disk.pods(ACTUATED)).keys()], ['u1', 'u1']);
});

for (const path of [ALLOCATED, ACTUATED]) {
  test(`an agent does not start with a corrupt ${path}, as kubelet`, async () => {
    const disk = await diskOfKubelet();
    await disk.writeFile(path, '{"data":"{}","checksum":1}');
    await assert.rejects(disk.records(), {
      name: 'CheckpointError',
      message: `could not restore state from checkpoint: checkpoint is corrupted, please drain this node and delete pod resource information checkpoint file "${path}" before restarting`,
    });
  });
}
