/** Pods that use up memory, processes or the disk of a real node, and the pod that is evicted for it. */
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { BUSYBOX_IMAGE } from '../../src/app/images/local-images.ts';
import { podOn } from './cluster-fixture.ts';
import { type NodeletNode, nodeletNodeSkipReason, startNodeletNode } from './nodelet-node.ts';
import {
  DATA_MOUNTS,
  DATA_VOLUMES,
  mountSmallDisk,
  type PodChange,
  SHORTAGES,
  type Shortage,
  smallNodeConfiguration,
} from './shortages.ts';

const NODE = 'node-1';
const skip = nodeletNodeSkipReason();
const timeout = 240_000;

let node: NodeletNode;

before(
  async () => {
    if (skip !== false) return;
    node = await startNodeletNode(NODE, async (plane) => {
      mountSmallDisk(join(plane.folder, NODE, 'root'));
      return { config: smallNodeConfiguration() };
    });
    const metadata = { name: 'low' };
    await node.plane.apply({ apiVersion: 'scheduling.k8s.io/v1', kind: 'PriorityClass', metadata, value: -100 });
  },
  { timeout },
);

after(async () => {
  await node?.plane.remove('--all', '--force').catch(() => {});
  await node?.stop();
});

function shellPod(name: string, script: string, { pod, container }: PodChange = {}): object {
  const command = ['sh', '-c', `trap exit TERM; ${script} sleep 1000 & wait`];
  const containers = [{ name: 'main', image: BUSYBOX_IMAGE, command, volumeMounts: DATA_MOUNTS, ...container }];
  return podOn(NODE, name, { terminationGracePeriodSeconds: 1, containers, volumes: DATA_VOLUMES, ...pod });
}

/** Runs a pod that needs little beside one that needs a lot, and expects the latter to be evicted. */
async function expectEviction(name: string, { script, calm: calmChange, message }: Shortage): Promise<void> {
  const { plane } = node;
  const calm = `${name}-calm`;
  await plane.apply(shellPod(calm, '', calmChange));
  await plane.wait(calm, 'condition=Ready');
  await plane.apply(shellPod(name, script));
  await plane.wait(name, 'jsonpath={.status.reason}=Evicted');
  assert.equal(await plane.field(name, '.status.phase'), 'Failed');
  assert.match(await plane.field(name, '.status.message'), message);
  const condition = '.status.conditions[?(@.type=="DisruptionTarget")].reason';
  assert.equal(await plane.field(name, condition), 'TerminationByKubelet');
  const events = await plane.kubectl('get', 'events', `--field-selector=reason=Evicted,involvedObject.name=${name}`);
  assert.match(events, /Evicted/);
  assert.equal(await plane.field(calm, '.status.phase'), 'Running');
  await plane.remove(name, calm);
  for (const type of ['MemoryPressure', 'PIDPressure', 'DiskPressure']) {
    await plane.wait(`node/${NODE}`, `condition=${type}=False`);
  }
}

for (const [what, shortage] of Object.entries(SHORTAGES)) {
  const [resource = ''] = what.split(':');
  test(what, { skip, timeout }, () => expectEviction(resource, shortage));
}
