/** In-place resize with `nodelet kubelet` as the node, as seen by the kernel. */
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import type { Event, ResourceRequirements } from '../../src/api/generated/core-v1.ts';
import { EXITS_ON_SIGTERM, shell } from './agent-fixture.ts';
import { podOn } from './cluster-fixture.ts';
import { type NodeletNode, nodeletNodeSkipReason, startNodeletNode } from './nodelet-node.ts';
import { until } from './until.ts';

const NODE = 'box';
const MIB = 2 ** 20;
const skip = nodeletNodeSkipReason();

/** Either cgroup version, as a container sees its own. */
const MEMORY_LIMIT = 'cat /sys/fs/cgroup/memory.max || cat /sys/fs/cgroup/memory/memory.limit_in_bytes';
const CPU_QUOTA = 'cat /sys/fs/cgroup/cpu.max || cat /sys/fs/cgroup/cpu/cpu.cfs_quota_us';

function both(cpu: string, memory: string): ResourceRequirements {
  return { requests: { cpu, memory }, limits: { cpu, memory } };
}

describe('in-place resize', { skip }, () => {
  let node: NodeletNode;
  before(async () => {
    node = await startNodeletNode(NODE);
  });
  after(() => node?.stop());

  async function start(name: string, spec: object): Promise<void> {
    await node.plane.apply(podOn(NODE, name, { automountServiceAccountToken: false, ...spec }));
  }

  async function run(name: string, resources: ResourceRequirements, container: object = {}): Promise<string> {
    await start(name, { containers: [{ ...shell('main', EXITS_ON_SIGTERM), resources, ...container }] });
    await node.plane.wait(name, 'condition=Ready');
    return idOf(name);
  }

  const idOf = (pod: string): Promise<string> => node.plane.field(pod, '.status.containerStatuses[0].containerID');

  async function ask(pod: string, spec: object): Promise<void> {
    await node.plane.kubectl('patch', 'pod', pod, '--subresource=resize', '-p', JSON.stringify({ spec }));
  }

  async function resize(pod: string, resources: ResourceRequirements): Promise<void> {
    const generation = Number(await node.plane.field(pod, '.metadata.generation')) + 1;
    await ask(pod, { containers: [{ name: 'main', resources }] });
    await resized(pod, generation);
  }

  /** The resize of that generation is allocated and completed. */
  async function resized(pod: string, generation: number): Promise<void> {
    await until(async () => {
      const { items }: { items: Event[] } = JSON.parse(await node.plane.kubectl('get', 'events', '-ojson'));
      const ofPod = items.filter(({ involvedObject }) => involvedObject.name === pod);
      const done = ofPod.find(
        ({ reason, message }) => reason === 'ResizeCompleted' && message?.includes(`:${generation}}`),
      );
      return done !== undefined;
    });
    await node.plane.wait(pod, 'condition=Ready');
  }

  /** The kernel limits of the container: bytes of memory, microseconds of CPU. */
  async function given(pod: string): Promise<readonly number[]> {
    const inside = `(${MEMORY_LIMIT}; ${CPU_QUOTA}) 2>/dev/null`;
    const text = await node.plane.kubectl('exec', pod, '--', 'sh', '-c', inside);
    return text
      .trim()
      .split('\n')
      .map((line) => Number.parseInt(line, 10));
  }

  test('a container is resized up and down; its pod cgroup grows before it and shrinks after it', async () => {
    const id = await run('web', both('100m', '64Mi'));
    assert.deepEqual(await given('web'), [64 * MIB, 10_000]);
    await resize('web', both('300m', '96Mi'));
    assert.deepEqual(await given('web'), [96 * MIB, 30_000]);
    await resize('web', both('50m', '48Mi'));
    assert.deepEqual(await given('web'), [48 * MIB, 5000]);
    assert.equal(await idOf('web'), id);
    assert.equal(await node.plane.field('web', '.status.containerStatuses[0].resources.limits.cpu'), '50m');
  });

  test('a container with the RestartContainer policy restarts', async () => {
    const resizePolicy = [{ resourceName: 'memory', restartPolicy: 'RestartContainer' }];
    const id = await run('strict', both('100m', '64Mi'), { resizePolicy });
    await resize('strict', both('200m', '64Mi'));
    assert.equal(await idOf('strict'), id);
    await resize('strict', both('200m', '80Mi'));
    assert.notEqual(await idOf('strict'), id);
    assert.deepEqual(await given('strict'), [80 * MIB, 20_000]);
    assert.equal(await node.plane.field('strict', '.status.containerStatuses[0].restartCount'), '1');
  });

  test('a pod-level resize also resizes its container', async () => {
    await start('whole', { containers: [shell('main', EXITS_ON_SIGTERM)], resources: both('100m', '64Mi') });
    await node.plane.wait('whole', 'condition=Ready');
    const id = await idOf('whole');
    assert.deepEqual(await given('whole'), [64 * MIB, 10_000]);
    await ask('whole', { resources: both('200m', '80Mi') });
    await resized('whole', 2);
    assert.deepEqual(await given('whole'), [80 * MIB, 20_000]);
    assert.equal(await idOf('whole'), id);
    assert.equal(await node.plane.field('whole', '.status.resources.limits.cpu'), '200m');
  });

  test('an init container is resized while it runs', async () => {
    const first = { ...shell('first', EXITS_ON_SIGTERM), resources: both('100m', '64Mi') };
    await start('early', { initContainers: [first], containers: [shell('main', 'true')] });
    const status = '.status.initContainerStatuses[0]';
    await until(() => node.plane.field('early', `${status}.state.running.startedAt`));
    await ask('early', { initContainers: [{ name: 'first', resources: both('200m', '80Mi') }] });
    await node.plane.wait('early', `jsonpath={${status}.resources.limits.cpu}=200m`);
    const inside = ['exec', 'early', '-c', 'first', '--', 'sh', '-c', `(${MEMORY_LIMIT}) 2>/dev/null`];
    assert.equal((await node.plane.kubectl(...inside)).trim(), String(80 * MIB));
    await node.plane.kubectl('delete', 'pod', 'early', '--force', '--grace-period=0');
  });

  test('a resize requested while no agent ran is done by the next one, with one event', async () => {
    const id = await run('late', both('100m', '64Mi'));
    await node.stopAgent();
    await ask('late', { containers: [{ name: 'main', resources: both('150m', '80Mi') }] });
    await node.restart();
    await resized('late', 2);
    assert.deepEqual(await given('late'), [80 * MIB, 15_000]);
    assert.equal(await idOf('late'), id);
  });
});
