/** In-place resize of pods on virtual time, also across kills of the agent. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Pod, PodCondition, ResourceRequirements } from '../../src/api/generated/core-v1.ts';
import { CriError } from '../../src/cri/cri-error.ts';
import type { InjectedFailure } from '../../src/cri/fake/failure-injector.ts';
import { decodeResources, encodeResources } from '../../src/kubelet/resources/resources-checkpoint.ts';
import { type MemoryAgent, newWorld, podOf, SETTINGS, startAgent } from './memory-agent.ts';

const ALLOCATED = `${SETTINGS.rootDir}/allocated_pods_state`;
const ACTUATED = `${SETTINGS.rootDir}/actuated_pods_state`;
const MIB = 2n ** 20n;

function resources(cpu: string, memory = '64Mi'): ResourceRequirements {
  return { requests: { cpu, memory: '16Mi' }, limits: { memory } };
}

const RESTARTS = [{ resourceName: 'cpu', restartPolicy: 'RestartContainer' }];

function web(given: ResourceRequirements, resizePolicy?: typeof RESTARTS): Pod {
  const container = { name: 'main', image: 'busybox:1', resources: given, ...(resizePolicy && { resizePolicy }) };
  return podOf('web', { containers: [container] });
}

async function runs(pod: Pod, it?: MemoryAgent): Promise<MemoryAgent> {
  const agent = it ?? (await startAgent());
  agent.source.set(pod);
  await agent.host.clock.advance(1000);
  return agent;
}

function fault(code: CriError['code'], message: string): InjectedFailure {
  return { kind: 'before', error: new CriError(code, message) };
}

/** The visible state of the resize of the only pod. */
function shown({ agent, runtime }: MemoryAgent) {
  const [pod] = agent.pods();
  const [status] = pod?.status.containerStatuses ?? [];
  const given = [...runtime.containers.values()].map(({ config }) => config.linux?.resources?.memoryLimitInBytes);
  return {
    resources: status?.resources,
    allocated: status?.allocatedResources?.['cpu'],
    restarts: status?.restartCount,
    memoryLimits: given,
    events: pod?.events.map(({ reason }) => reason).filter((reason) => /Resize|Killing/.test(reason)),
    conditions: pod?.status.conditions?.filter(({ type }) => type.startsWith('PodResize')).map(conditionText),
  };
}

function conditionText({ type, reason, message }: PodCondition): string {
  return [type, reason, message].filter((text) => text !== undefined).join(' ');
}

const before = {
  resources: resources('50m'),
  allocated: '50m',
  restarts: 0,
  memoryLimits: [64n * MIB],
  events: [],
  conditions: [],
};

test('a container is resized and keeps running', async () => {
  await using it = await runs(web(resources('50m')));
  assert.deepEqual(shown(it), before);
  await runs(web(resources('70m', '80Mi')), it);
  assert.deepEqual(shown(it), {
    ...before,
    resources: resources('70m', '80Mi'),
    allocated: '70m',
    memoryLimits: [80n * MIB],
    events: ['ResizeStarted', 'ResizeCompleted'],
  });
  assert.deepEqual(it.host.cgroups.valuesOf('/kubepods/burstable/poduid-web'), {
    cpuShares: 71,
    memoryLimitBytes: Number(80n * MIB),
  });
});

test('a container with the RestartContainer policy restarts with the new resources', async () => {
  await using it = await runs(web(resources('50m'), RESTARTS));
  await runs(web(resources('70m'), RESTARTS), it);
  const { events, restarts, resources: now } = shown(it);
  assert.deepEqual([events, restarts, now], [['ResizeStarted', 'Killing', 'ResizeCompleted'], 1, resources('70m')]);
});

/** The machine has one CPU. */
const LARGE = web(resources('600m'));
const OTHER = podOf('other', {
  containers: [{ name: 'other', image: 'busybox:1', resources: { requests: { cpu: '500m' } } }],
});

test('a deferred resize keeps the old resources until there is room', async () => {
  await using it = await startAgent();
  it.source.set(web(resources('50m')), OTHER);
  await it.host.clock.advance(1000);
  it.source.set(LARGE, OTHER);
  await it.host.clock.advance(1000);
  const message = "Node didn't have enough resource: cpu, requested: 600, used: 500, capacity: 1000";
  const { memoryLimits: _, ...waiting } = shown(it);
  const { memoryLimits: __, ...unchanged } = before;
  assert.deepEqual(waiting, {
    ...unchanged,
    events: ['ResizeDeferred'],
    conditions: [`PodResizePending Deferred ${message}`],
  });
  it.source.set(LARGE);
  await it.host.clock.advance(100_000); // the other pod ends, and housekeeping runs
  const { allocated, restarts, events, conditions } = shown(it);
  assert.deepEqual([allocated, restarts, conditions], ['600m', 0, []]);
  assert.deepEqual(events, ['ResizeDeferred', 'ResizeStarted', 'ResizeCompleted']);
});

test('a deferred pod keeps its allocation under the next agent', async () => {
  const world = newWorld();
  const it = await startAgent(world);
  it.source.set(web(resources('50m')), OTHER);
  await it.host.clock.advance(1000);
  it.source.set(LARGE, OTHER);
  await it.host.clock.advance(1000);
  const [id] = world.runtime.containers.keys();
  await it.stop();

  await using next = await startAgent(world);
  next.source.set(LARGE, OTHER);
  await next.host.clock.advance(1000);
  const { allocated, restarts, conditions } = shown(next);
  assert.deepEqual([allocated, restarts, conditions?.length], ['50m', 0, 1]);
  assert.ok(world.runtime.containers.has(id ?? ''));
});

for (const [how, policy, events, restarts] of [
  ['in place', undefined, ['ResizeCompleted'], 0],
  ['by a restart where a container wants that', RESTARTS, ['Killing', 'ResizeCompleted'], 1],
] as const) {
  test(`a resize that was interrupted by a kill is completed by the next agent, ${how}`, async () => {
    const world = newWorld();
    const pod = web(resources('70m', '80Mi'), policy && [...policy]);
    const it = await runs(pod, await startAgent(world));
    await it.stop();
    const { fs } = world.host;
    const record = new Map(decodeResources(await fs.readText(ACTUATED)));
    record.set('uid-web', { containers: new Map([['main', resources('50m')]]) });
    await fs.writeAtomic(ACTUATED, encodeResources(record));

    await using next = await runs(pod, await startAgent(world));
    const now = shown(next);
    assert.deepEqual([now.events, now.restarts, now.resources], [events, restarts, resources('70m', '80Mi')]);
    assert.equal(await fs.readText(ACTUATED), await fs.readText(ALLOCATED));
  });
}

test('a memory limit below the usage is not applied, and the pod shows that until the limit is above it', async () => {
  await using it = await startAgent();
  it.runtime.behaviours.set('main', { memoryBytes: Number(40n * MIB) });
  await runs(web(resources('50m')), it);
  await runs(web(resources('50m', '32Mi')), it);
  const error =
    'cannot decrease memory limits: attempting to set container "main" memory limit (33554432) below current usage (41943040)';
  assert.deepEqual(shown(it), {
    ...before,
    events: ['ResizeStarted', 'ResizeError'],
    conditions: [`PodResizeInProgress Error ${error}`],
  });
  await runs(web(resources('50m', '48Mi')), it);
  await it.host.clock.advance(60_000);
  const { conditions, memoryLimits } = shown(it);
  assert.deepEqual([conditions, memoryLimits], [[], [48n * MIB]]);
});

test('an error of the runtime is retried; an unsupported UpdatePodSandboxResources is not an error', async () => {
  await using it = await runs(web(resources('50m')));
  it.runtime.failures.next('updatePodSandboxResources', fault('Unimplemented', 'unknown method'));
  const error = fault('Unknown', 'not now');
  it.runtime.failures.everyCall((method) => (method === 'updateContainerResources' ? error : undefined));
  await runs(web(resources('70m', '80Mi')), it);
  const failed = shown(it);
  assert.deepEqual(failed.events, ['ResizeStarted', 'ResizeError']);
  assert.deepEqual(failed.conditions, ['PodResizeInProgress Error rpc error: code = Unknown desc = not now']);
  assert.deepEqual([failed.resources, failed.allocated], [resources('50m'), '70m']);
  it.runtime.failures.everyCall(() => undefined);
  await it.host.clock.advance(60_000);
  const now = shown(it);
  assert.deepEqual([now.conditions, now.resources, now.restarts], [[], resources('70m', '80Mi'), 0]);
  assert.deepEqual(now.events, ['ResizeStarted', 'ResizeError', 'ResizeCompleted']);
});

test('a pod-level resize also resizes its containers', async () => {
  const whole = (cpu: string, memory: string): Pod =>
    podOf('web', {
      containers: [{ name: 'main', image: 'busybox:1' }],
      resources: { requests: { cpu, memory }, limits: { cpu, memory } },
    });
  await using it = await runs(whole('100m', '64Mi'));
  await runs(whole('200m', '80Mi'), it);
  const { memoryLimits, restarts, events } = shown(it);
  assert.deepEqual([memoryLimits, restarts, events], [[80n * MIB], 0, ['ResizeStarted', 'ResizeCompleted']]);
  assert.equal(it.host.cgroups.valuesOf('/kubepods/poduid-web')?.cpuQuotaMicroseconds, 20_000);
  const record = decodeResources(await it.host.fs.readText(ACTUATED)).get('uid-web');
  assert.deepEqual(record?.pod?.limits, { cpu: '200m', memory: '80Mi' });
});

test('records of removed pods are deleted', async () => {
  await using it = await runs(web(resources('50m')));
  assert.deepEqual([...decodeResources(await it.host.fs.readText(ALLOCATED)).keys()], ['uid-web']);
  it.source.set();
  await it.host.clock.advance(60_000);
  const empty = encodeResources(new Map());
  assert.deepEqual([await it.host.fs.readText(ALLOCATED), await it.host.fs.readText(ACTUATED)], [empty, empty]);
});

test('records of pods that were removed while no agent ran are deleted once every source has reported', async () => {
  const world = newWorld();
  const it = await runs(web(resources('50m')), await startAgent(world));
  await it.stop();
  await using next = await startAgent(world);
  await next.host.clock.advance(1000);
  assert.deepEqual([...decodeResources(await world.host.fs.readText(ACTUATED)).keys()], ['uid-web']);
  next.source.set();
  await next.host.clock.advance(60_000);
  assert.equal(await world.host.fs.readText(ACTUATED), encodeResources(new Map()));
});

test('an agent does not start on invalid records, and names them', async () => {
  const world = newWorld();
  await world.host.fs.makeDirectory(SETTINGS.rootDir);
  await world.host.fs.writeFile(ACTUATED, '{"data":"{}","checksum":1}');
  await assert.rejects(
    startAgent(world),
    /checkpoint is corrupted, .* file "\/var\/lib\/kubelet\/actuated_pods_state"/,
  );
});
