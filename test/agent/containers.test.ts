/** Parallel starts, ephemeral containers and failing stops: the whole agent on virtual time. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Container, Pod } from '../../src/api/generated/core-v1.ts';
import { CriError } from '../../src/cri/cri-error.ts';
import { NamespaceMode } from '../../src/cri/generated/runtime-v1.ts';
import { type MemoryAgent, newClusterWorld, podOf, SETTINGS, startAgent, type World } from './memory-agent.ts';
import { container, newWatchedWorld } from './watched-world.ts';

const SIMULATED = new CriError('Unknown', 'simulated');

/** Registers an image whose pull takes this long. */
function slowImage({ runtime }: World, name: string, pullMs: number): Partial<Container> {
  runtime.registry.set(name, { pullMs });
  return { image: name };
}

function events({ agent }: MemoryAgent, reason: string): (string | undefined)[] {
  const all = agent.pods().flatMap((report) => report.events);
  return all.filter((event) => event.reason === reason).map(({ fieldPath, message }) => fieldPath ?? message);
}

function idsOf({ runtime }: MemoryAgent): Record<string, string> {
  return Object.fromEntries(
    [...runtime.containers.values()].map(({ id, config }) => [config.metadata?.name ?? '', id]),
  );
}

function namespacesOf({ runtime }: MemoryAgent, name: string) {
  const found = [...runtime.containers.values()].find(({ config }) => config.metadata?.name === name);
  const { pid, targetId } = found?.config.linux?.securityContext?.namespaceOptions ?? {};
  return { pid, targetId };
}

test('main containers start in parallel: a slow pull delays no other container', async () => {
  const world = newWatchedWorld();
  const slow = slowImage(world, 'slow:1', 5000);
  const slower = slowImage(world, 'slower:1', 7000);
  await using it = await startAgent(world, { serializeImagePulls: false });
  it.source.set(podOf('web', { containers: [container('a', slower), container('b', slow), container('c')] }));
  await world.host.clock.advance(8000);
  assert.deepEqual(world.effects, ['0 started c', '5 started b', '7 started a']);
});

test('containers after one with a postStart hook wait for the hook; those before it do not', async () => {
  const world = newWatchedWorld();
  const slow = slowImage(world, 'slow:1', 9000);
  const hook = { lifecycle: { postStart: { sleep: { seconds: 4 } } } };
  await using it = await startAgent(world, { serializeImagePulls: false });
  const containers = [
    container('a', slow),
    container('mesh', hook),
    container('b'),
    container('gate', hook),
    container('c'),
  ];
  it.source.set(podOf('web', { containers }));
  await world.host.clock.advance(10_000);
  assert.deepEqual(world.effects, ['0 started mesh', '4 started b', '4 started gate', '8 started c', '9 started a']);
});

test('a failed hook does not keep other containers from starting', async () => {
  const world = newWatchedWorld();
  world.runtime.behaviours.set('mesh', { exec: () => ({ afterMs: 2000, exitCode: 1 }) });
  await using it = await startAgent(world);
  const hook = { lifecycle: { postStart: { exec: { command: ['false'] } } } };
  it.source.set(podOf('web', { containers: [container('mesh', hook), container('a')] }));
  await world.host.clock.advance(2000);
  assert.deepEqual(world.effects.slice(0, 4), ['0 started mesh', '2 terminating mesh', '2 exited mesh', '2 started a']);
});

test('each container that cannot start shows the reason, and the others run', async () => {
  const world = newWatchedWorld();
  await using it = await startAgent(world);
  world.runtime.behaviours.set('broken', { startError: 'no such file' });
  const missing = { image: 'none:1', imagePullPolicy: 'Never' };
  it.source.set(podOf('web', { containers: [container('broken'), container('nowhere', missing), container('fine')] }));
  await world.host.clock.advance(0);
  const states = it.agent
    .pods()[0]
    ?.status.containerStatuses?.map(({ name, state }) => [name, state?.waiting?.reason ?? Object.keys(state ?? {})[0]]);
  assert.deepEqual(states, [
    ['broken', 'CrashLoopBackOff'],
    ['fine', 'running'],
    ['nowhere', 'ErrImageNeverPull'],
  ]);
  const events = it.agent.pods()[0]?.events.map(({ fieldPath, message }) => `${fieldPath} ${message}`) ?? [];
  assert.ok(events.includes('spec.containers{broken} Error: no such file'));
});

const runtimeErrors: Record<string, { method: 'createContainer' | 'startContainer'; reason: string }> = {
  'cannot be created': { method: 'createContainer', reason: 'CreateContainerError' },
  'cannot be started': { method: 'startContainer', reason: 'RunContainerError' },
};

for (const [what, { method, reason }] of Object.entries(runtimeErrors)) {
  test(`a container that ${what} shows the error of the runtime; its event contains no id`, async () => {
    const world = newWatchedWorld();
    await using it = await startAgent(world);
    world.runtime.failures.everyCall((called, request) => {
      if (called !== method) return undefined;
      const { containerId = '' } = request as { containerId?: string }; // the request type of the method
      return { kind: 'before', error: new CriError('Unknown', `no task for ${containerId || 'anything'}`) };
    });
    const shown: string[] = [];
    it.agent.subscribe((event) => {
      const waiting = event.kind === 'status' && event.status.containerStatuses?.[0]?.state?.waiting;
      if (waiting) shown.push(`${waiting.reason}: ${waiting.message}`);
    });
    it.source.set(podOf('web'));
    await world.host.clock.advance(0);
    const subject = method === 'startContainer' ? '[0-9a-f]{8,}' : 'anything';
    assert.ok(shown.some((text) => new RegExp(`^${reason}: no task for ${subject}$`).test(text)));
    const failed = it.agent.pods()[0]?.events.filter((event) => event.reason === 'Failed');
    const expected = `Error: no task for ${method === 'startContainer' ? 'main' : 'anything'}`;
    assert.equal(failed?.at(-1)?.message, expected);
  });
}

test('a pod that is removed while its containers start leaves no resources behind', async () => {
  const world = newWatchedWorld();
  const slow = slowImage(world, 'slow:1', 60_000);
  await using it = await startAgent(world);
  const hook = { lifecycle: { postStart: { sleep: { seconds: 60 } } } };
  it.source.set(podOf('web', { containers: [container('a', slow), container('mesh', hook), container('b')] }));
  await world.host.clock.advance(1000);
  it.source.set();
  await world.host.clock.advance(1000);
  assert.equal(world.runtime.containers.size + world.runtime.sandboxes.size, 0);
  assert.deepEqual(it.agent.pods(), []);
  assert.ok(!world.effects.includes('1 started b'));
});

test('removing a pod while its sandbox is created is not a failure', async () => {
  const world = newWatchedWorld();
  await using it = await startAgent(world);
  const reasons: string[] = [];
  it.agent.subscribe((event) => event.kind === 'event' && reasons.push(event.event.reason));
  world.runtime.failures.next('runPodSandbox', { kind: 'delay', ms: 60_000 });
  it.source.set(podOf('web', { dnsPolicy: 'Default' }));
  await world.host.clock.advance(1000);
  it.source.set();
  await world.host.clock.advance(1000);
  assert.deepEqual(it.agent.pods(), []);
  assert.deepEqual(reasons, []);
});

test('a sandbox status error is reported, and the pod starts once the status is available', async () => {
  const world = newWatchedWorld();
  await using it = await startAgent(world);
  world.runtime.failures.next('podSandboxStatus', { kind: 'before', error: SIMULATED });
  it.source.set(podOf('web'));
  await world.host.clock.advance(0);
  assert.deepEqual(events(it, 'FailedPodSandBoxStatus'), [
    'Unable to get pod sandbox status: rpc error: code = Unknown desc = simulated',
  ]);
  await world.host.clock.advance(20_000);
  assert.equal(it.agent.pods()[0]?.status.phase, 'Running');
});

test('two containers that must be recreated are stopped together', async () => {
  const world = newWatchedWorld();
  for (const name of ['a', 'b']) world.runtime.behaviours.set(name, { onTerminate: { afterMs: 3000, code: 0 } });
  world.runtime.addImage('busybox:2');
  await using it = await startAgent(world);
  it.source.set(podOf('web', { containers: [container('a'), container('b'), container('c')] }));
  await world.host.clock.advance(1000);
  const image = 'busybox:2';
  it.source.set(podOf('web', { containers: [container('a', { image }), container('b', { image }), container('c')] }));
  await world.host.clock.advance(10_000);
  assert.deepEqual(world.effects.slice(3), [
    '1 terminating a',
    '1 terminating b',
    '4 exited a',
    '4 exited b',
    '4 started a',
    '4 started b',
  ]);
  assert.deepEqual(events(it, 'Killing'), ['spec.containers{a}', 'spec.containers{b}']);
});

const target = { targetContainerName: 'main' };

test('an ephemeral container starts in a running pod, sees its target, and no other container restarts', async () => {
  const world = newWatchedWorld();
  await using it = await startAgent(world);
  it.source.set(podOf('web'));
  await world.host.clock.advance(1000);
  const before = idsOf(it);
  it.source.set(podOf('web', { ephemeralContainers: [{ ...container('debug'), ...target }] }));
  await world.host.clock.advance(1000);
  assert.deepEqual(world.effects, ['0 started main', '1 started debug']);
  assert.equal(idsOf(it)['main'], before['main']);
  assert.deepEqual(namespacesOf(it, 'debug'), { pid: NamespaceMode.TARGET, targetId: before['main'] });
  assert.deepEqual(namespacesOf(it, 'main'), { pid: NamespaceMode.CONTAINER, targetId: '' });
  const { ephemeralContainerStatuses, phase, conditions } = it.agent.pods()[0]?.status ?? {};
  assert.deepEqual(
    ephemeralContainerStatuses?.map(({ name, state }) => [name, Object.keys(state ?? {})]),
    [['debug', ['running']]],
  );
  assert.equal(phase, 'Running');
  assert.equal(conditions?.find(({ type }) => type === 'Ready')?.status, 'True');
  assert.deepEqual(events(it, 'Started'), ['spec.containers{main}', 'spec.ephemeralContainers{debug}']);
  it.source.set();
  await world.host.clock.advance(0);
  assert.equal(world.runtime.containers.size, 0);
});

test('an ephemeral container from the API server is in the status, also with the next agent', async () => {
  const world = await newClusterWorld();
  const life = new AbortController().signal;
  const key = { resource: 'pods', namespace: 'default', name: 'web' } as const;
  const it = await startAgent(world);
  it.source.set();
  const { metadata, spec } = podOf('web');
  await world.apiServer.direct.create(key, { metadata, spec: { ...spec, nodeName: SETTINGS.nodeName } }, life);
  await world.host.clock.advance(1000);
  const ephemeralContainers = [{ ...container('debug'), ...target }];
  await world.apiServer.direct.patch(key, { spec: { ephemeralContainers } }, {}, life);
  await world.host.clock.advance(1000);
  const shown = async (): Promise<string[]> => {
    const { status } = await world.apiServer.direct.get(key, life);
    const all = [...(status?.containerStatuses ?? []), ...(status?.ephemeralContainerStatuses ?? [])];
    return all.map(({ name, state, restartCount }) => `${name} ${Object.keys(state ?? {})} ${restartCount}`);
  };
  assert.deepEqual(await shown(), ['main running 0', 'debug running 0']);
  await it.stop();
  await using next = await startAgent(world);
  next.source.set();
  await world.host.clock.advance(60_000);
  assert.deepEqual(await shown(), ['main running 0', 'debug running 0']);
});

test('an ephemeral container joins the shared process namespace of its pod', async () => {
  const world = newWatchedWorld();
  await using it = await startAgent(world);
  const spec = { shareProcessNamespace: true };
  it.source.set(podOf('web', spec));
  await world.host.clock.advance(0);
  it.source.set(podOf('web', { ...spec, ephemeralContainers: [{ ...container('debug'), ...target }] }));
  await world.host.clock.advance(0);
  assert.deepEqual(namespacesOf(it, 'debug'), { pid: NamespaceMode.POD, targetId: '' });
});

test('an exited ephemeral container is not started again, not even in a new sandbox', async () => {
  const world = newWatchedWorld();
  world.runtime.behaviours.set('debug', { exits: { afterMs: 1000, code: 3 } });
  await using it = await startAgent(world);
  it.source.set(podOf('web'));
  await world.host.clock.advance(0);
  it.source.set(podOf('web', { ephemeralContainers: [container('debug')] }));
  await world.host.clock.advance(5000);
  for (const { id } of world.runtime.sandboxes.values()) world.runtime.loseSandbox(id);
  await world.host.clock.advance(120_000);
  assert.equal(world.effects.filter((line) => line.endsWith('started debug')).length, 1);
  const shown = it.agent.pods()[0]?.status.ephemeralContainerStatuses?.[0];
  assert.deepEqual([shown?.state?.terminated?.exitCode, shown?.restartCount], [3, 0]);
});

test('an ephemeral container starts while init containers run, whatever its result', async () => {
  const world = newWatchedWorld();
  world.runtime.behaviours.set('first', { exits: { afterMs: 5000, code: 0 } });
  await using it = await startAgent(world);
  const pod = podOf('web', { initContainers: [container('first')] });
  it.source.set(pod);
  await world.host.clock.advance(1000);
  const lost = { ...container('lost'), targetContainerName: 'main' };
  it.source.set({ ...pod, spec: { ...pod.spec, ephemeralContainers: [container('debug'), lost] } });
  await world.host.clock.advance(1000);
  assert.deepEqual(world.effects, ['0 started first', '1 started debug']);
  const [, shown] = it.agent.pods()[0]?.status.ephemeralContainerStatuses ?? [];
  const waiting = { reason: 'CreateContainerConfigError', message: 'unable to find target container main' };
  assert.deepEqual(shown?.state, { waiting });
  assert.ok(it.agent.pods()[0]?.events.some(({ message }) => message === `Error: ${waiting.message}`));
  await world.host.clock.advance(20_000);
  assert.deepEqual(world.effects.slice(2, 5), ['5 exited first', '5 started main', '5 started lost']);
});

test('ephemeral containers end with their pod and do not delay sidecars', async () => {
  const world = newWatchedWorld();
  world.runtime.behaviours.set('debug', { onTerminate: 'ignore' });
  await using it = await startAgent(world);
  const pod = podOf('web', { initContainers: [container('proxy', { restartPolicy: 'Always' })] });
  it.source.set(pod);
  await world.host.clock.advance(0);
  it.source.set({ ...pod, spec: { ...pod.spec, ephemeralContainers: [container('debug')] } });
  await world.host.clock.advance(1000);
  it.source.set();
  await world.host.clock.advance(60_000);
  assert.ok(world.effects.includes('1 terminating debug'));
  const others = ends(world.effects).filter((line) => line !== '1 terminating debug');
  assert.deepEqual(others, [
    '1 terminating main',
    '1 exited main',
    '1 terminating proxy',
    '1 exited proxy',
    '31 exited debug',
  ]);
});

function ends(effects: readonly string[]): string[] {
  return effects.filter((line) => / (terminating|exited) /.test(line));
}

test('sidecars end in reverse order, each within the remaining grace period', async () => {
  const world = newWatchedWorld();
  world.runtime.behaviours.set('main', { onTerminate: { afterMs: 4000, code: 0 } });
  world.runtime.behaviours.set('log', { onTerminate: { afterMs: 3500, code: 0 } });
  await using it = await startAgent(world);
  const sidecar = (name: string): Container => container(name, { restartPolicy: 'Always' });
  const graces: string[] = [];
  world.runtime.failures.everyCall((method, request) => {
    if (method === 'stopContainer') graces.push(String((request as { timeout: bigint }).timeout)); // the request type of the method
    return undefined;
  });
  it.source.set(
    podOf('web', { initContainers: [sidecar('proxy'), sidecar('log')], terminationGracePeriodSeconds: 10 }),
  );
  await world.host.clock.advance(0);
  it.source.set();
  await world.host.clock.advance(30_000);
  assert.deepEqual(ends(world.effects), [
    '0 terminating main',
    '4 exited main',
    '4 terminating log',
    '7.5 exited log',
    '7.5 terminating proxy',
    '7.5 exited proxy',
  ]);
  assert.deepEqual(graces, ['10', '6', '3']);
});

test('a failed container stop is reported with kubelet’s message and retried', async () => {
  const world = newWatchedWorld();
  await using it = await startAgent(world);
  const pod = podOf('web', { containers: [container('a'), container('b')] });
  it.source.set(pod);
  await world.host.clock.advance(0);
  for (let times = 0; times < 2; times++)
    world.runtime.failures.next('stopContainer', { kind: 'before', error: SIMULATED });
  it.source.set(deleted(pod));
  await world.host.clock.advance(0);
  const failed = (name: string): string =>
    `failed to "KillContainer" for "${name}" with KillContainerError: "rpc error: code = Unknown desc = simulated"`;
  assert.deepEqual(events(it, 'FailedKillPod'), [`error killing pod: [${failed('b')}, ${failed('a')}]`]);
  assert.ok([...world.runtime.sandboxes.values()].every(({ state }) => state === 'ready'));
  await world.host.clock.advance(20_000);
  assert.ok([...world.runtime.sandboxes.values()].every(({ state }) => state === 'notReady'));
});

test('a failed sandbox stop is reported with kubelet’s message', async () => {
  const world = newWatchedWorld();
  await using it = await startAgent(world);
  const pod = podOf('web');
  it.source.set(pod);
  await world.host.clock.advance(0);
  world.runtime.failures.next('stopPodSandbox', { kind: 'before', error: SIMULATED });
  it.source.set(deleted(pod));
  await world.host.clock.advance(0);
  assert.deepEqual(events(it, 'FailedKillPod'), [
    'error killing pod: failed to "KillPodSandbox" for "uid-web" with KillPodSandboxError: "rpc error: code = Unknown desc = simulated"',
  ]);
});

function deleted(pod: Pod): Pod {
  return { ...pod, metadata: { ...pod.metadata, deletionTimestamp: '2026-01-01T00:00:00Z' } };
}

test('of a failing init container only the last dead container and its log are kept', async () => {
  const world = newWatchedWorld();
  world.runtime.behaviours.set('first', { exits: { afterMs: 100, code: 1 }, output: ['no luck'] });
  await using it = await startAgent(world);
  it.source.set(podOf('web', { initContainers: [container('first')] }));
  await world.host.clock.advance(1000);
  assert.equal(it.agent.pods()[0]?.status.initContainerStatuses?.[0]?.restartCount, 1);
  const attempts = [...world.runtime.containers.values()].map(({ config }) => config.metadata?.attempt);
  assert.deepEqual(attempts, [1]);
  const logs = await world.host.fs.readDirectory('/var/log/pods/default_web_uid-web/first');
  assert.deepEqual(
    logs.map(({ name }) => name),
    ['1.log'],
  );
});

test('the first init container of a new sandbox continues the attempt count of the removed one, as with kubelet', async () => {
  const world = newWatchedWorld();
  world.runtime.behaviours.set('first', { exits: { afterMs: 0, code: 0 }, output: ['done'] });
  await using it = await startAgent(world);
  it.source.set(podOf('web', { initContainers: [container('first')] }));
  await world.host.clock.advance(1000);
  for (const { id } of world.runtime.sandboxes.values()) world.runtime.loseSandbox(id);
  await world.host.clock.advance(20_000);
  const attempts = [...world.runtime.containers.values()].map(
    ({ config }) => `${config.metadata?.name} ${config.metadata?.attempt}`,
  );
  assert.deepEqual(new Set(attempts), new Set(['first 1', 'main 0', 'main 1']));
  assert.deepEqual(events(it, 'SandboxChanged').length, 1);
});

test('a container that exits because its sandbox is replaced does not count as crashed', async () => {
  const world = newWatchedWorld();
  await using it = await startAgent(world);
  it.source.set(podOf('web'));
  for (const ranMs of [1000, 1000, 30_000]) {
    await world.host.clock.advance(ranMs);
    world.runtime.exitContainer(idsOf(it)['main'] ?? '', { exitCode: 1 });
  }
  await world.host.clock.advance(60_000);
  assert.equal(it.agent.pods()[0]?.status.containerStatuses?.[0]?.restartCount, 3);
  for (const { id } of world.runtime.sandboxes.values()) world.runtime.loseSandbox(id);
  await world.host.clock.advance(1000);
  assert.equal(world.runtime.sandboxes.size, 2);
  assert.match(world.effects.at(-1) ?? '', /started main$/);
});

const stopFaults = {
  'does not end': { kind: 'hang' },
  'cannot be stopped': { kind: 'before', error: SIMULATED },
} as const;

for (const [what, fault] of Object.entries(stopFaults)) {
  test(`a sidecar waits for a container that ${what} for its own grace period, and no longer`, async () => {
    const world = newWatchedWorld();
    await using it = await startAgent(world);
    const initContainers = [container('proxy', { restartPolicy: 'Always' })];
    it.source.set(podOf('web', { initContainers, terminationGracePeriodSeconds: 5 }));
    await world.host.clock.advance(0);
    world.runtime.failures.next('stopContainer', fault);
    it.source.set();
    await world.host.clock.advance(6000);
    assert.deepEqual(ends(world.effects).slice(0, 2), ['5 terminating proxy', '5 exited proxy']);
  });
}
