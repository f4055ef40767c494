/** The whole agent, unchanged, on virtual time with an in-memory runtime and machine. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { CriError } from '../../src/cri/cri-error.ts';
import { type MemoryAgent, newWorld, podOf, startAgent } from './memory-agent.ts';

function phases({ agent }: MemoryAgent): Record<string, string | undefined> {
  return Object.fromEntries(agent.pods().map(({ pod, status }) => [pod.metadata.name, status.phase]));
}

function containerStates({ runtime }: MemoryAgent): string[] {
  return [...runtime.containers.values()]
    .map(({ config, state: phase }) => `${config.metadata?.name} ${phase.phase}`)
    .toSorted(byText);
}

/** The number of container starts of a pod with one container; the runtime removes older containers. */
function startsOf({ runtime }: MemoryAgent): number {
  return 1 + Math.max(...[...runtime.containers.values()].map(({ config }) => config.metadata?.attempt ?? 0));
}

function byText(a: string, b: string): number {
  return a < b ? -1 : 1;
}

async function remainingResources({ runtime, host }: MemoryAgent): Promise<number> {
  const folders = await host.fs.readDirectory('/var/lib/kubelet/pods');
  return runtime.containers.size + runtime.sandboxes.size + folders.length;
}

test('a pod runs and leaves no resources behind', async () => {
  await using it = await startAgent();
  it.source.set(podOf('web'));
  await it.host.clock.advance(0);
  assert.deepEqual(phases(it), { web: 'Running' });
  it.source.set();
  await it.host.clock.advance(0);
  assert.deepEqual(phases(it), {});
  assert.equal(await remainingResources(it), 0);
});

test('init containers run in order before the main container', async () => {
  await using it = await startAgent();
  for (const name of ['first', 'second']) it.runtime.behaviours.set(name, { exits: { afterMs: 1000, code: 0 } });
  const init = (name: string) => ({ name, image: 'busybox:1' });
  it.source.set(podOf('web', { initContainers: [init('first'), init('second')] }));
  await it.host.clock.advance(999);
  assert.deepEqual(containerStates(it), ['first running']);
  await it.host.clock.advance(1);
  assert.deepEqual(containerStates(it), ['first exited', 'second running']);
  await it.host.clock.advance(1000);
  assert.deepEqual(containerStates(it), ['first exited', 'main running', 'second exited']);
});

test('a container that exits restarts at once, then exactly when its back-off ends', async () => {
  await using it = await startAgent();
  it.runtime.behaviours.set('main', { exits: { afterMs: 1000, code: 1 } });
  it.source.set(podOf('web'));
  const starts = (): number => startsOf(it);
  await it.host.clock.advance(1000);
  assert.equal(starts(), 2);
  await it.host.clock.advance(1000 + 9_999);
  assert.equal(starts(), 2);
  assert.equal(it.agent.pods()[0]?.status.containerStatuses?.[0]?.state?.waiting?.reason, 'CrashLoopBackOff');
  await it.host.clock.advance(1);
  assert.equal(starts(), 3);
});

test('a pod that never restarts succeeds and keeps its dead container until it leaves its source', async () => {
  await using it = await startAgent();
  it.runtime.behaviours.set('main', { exits: { afterMs: 10, code: 0 } });
  it.source.set(podOf('job', { restartPolicy: 'Never' }));
  await it.host.clock.advance(10);
  assert.deepEqual(phases(it), { job: 'Succeeded' });
  assert.deepEqual(containerStates(it), ['main exited']);
  it.source.set();
  await it.host.clock.advance(0);
  assert.equal(await remainingResources(it), 0);
});

test('after a kill the next agent adopts the pods without a restart', async () => {
  const world = newWorld();
  const first = await startAgent(world);
  first.source.set(podOf('web'));
  await world.host.clock.advance(0);
  await first.stop();
  const [before] = world.runtime.containers.keys();

  await using second = await startAgent(world);
  second.source.set(podOf('web'));
  await world.host.clock.advance(0);
  assert.deepEqual([...world.runtime.containers.keys()], [before]);
  assert.deepEqual(phases(second), { web: 'Running' });
});

test('the next agent terminates pods that are no longer desired', async () => {
  const world = newWorld();
  const first = await startAgent(world);
  first.source.set(podOf('old'), podOf('kept'));
  await world.host.clock.advance(0);
  await first.stop();

  await using second = await startAgent(world);
  second.source.set(podOf('kept'));
  await world.host.clock.advance(0);
  assert.deepEqual(phases(second), { kept: 'Running' });
  assert.equal(world.runtime.sandboxes.size, 1);
});

test('a pod never runs beside an older pod of the same name', async () => {
  const world = newWorld();
  world.runtime.behaviours.set('main', { onTerminate: { afterMs: 500, code: 0 } });
  await using first = await startAgent(world);
  first.source.set(podOf('web'));
  await world.host.clock.advance(0);
  const next = podOf('web');
  first.source.set({ ...next, metadata: { ...next.metadata, uid: 'other' } });
  await world.host.clock.advance(499);
  assert.deepEqual(containerStates(first), ['main running']);
  await world.host.clock.advance(1);
  assert.deepEqual(
    first.agent.pods().map(({ pod, status }) => [pod.metadata.uid, status.phase]),
    [['other', 'Running']],
  );
});

test('a pod that cannot run here is rejected with a reason, and the others run', async () => {
  await using it = await startAgent();
  it.source.set(podOf('web'), podOf('gated', { readinessGates: [{ conditionType: 'open' }] }));
  await it.host.clock.advance(0);
  assert.deepEqual(phases(it), { web: 'Running', gated: 'Failed' });
  const refused = it.agent.pods().find(({ pod }) => pod.metadata.name === 'gated');
  assert.equal(refused?.status.reason, 'PodFeatureUnsupported');
  assert.match(refused?.status.message ?? '', /spec\.readinessGates/);
});

test('draining terminates all pods and removes their cgroups', async () => {
  await using it = await startAgent();
  it.source.set(podOf('a'), podOf('b'));
  await it.host.clock.advance(0);
  await it.host.clock.runUntil(it.agent.drain());
  assert.equal(await remainingResources(it), 0);
  assert.equal(await it.host.cgroups.exists('/kubepods'), false);
});

test('a sandbox error is reported and the sandbox is retried', async () => {
  await using it = await startAgent();
  it.runtime.failures.next('runPodSandbox', { kind: 'before', error: new CriError('Unknown', 'no network') });
  it.source.set(podOf('web', { dnsPolicy: 'Default' }));
  await it.host.clock.advance(0);
  const [report] = it.agent.pods();
  assert.equal(report?.status.phase, 'Pending');
  assert.deepEqual(
    report?.events.map(({ reason, message }) => [reason, message]),
    [['FailedCreatePodSandBox', 'Failed to create pod sandbox: rpc error: code = Unknown desc = no network']],
  );
  await it.host.clock.advance(15_000);
  assert.deepEqual(phases(it), { web: 'Running' });
});

test('the steps of a start are on the timeline in order', async () => {
  await using it = await startAgent();
  it.source.set(podOf('web'));
  await it.host.clock.advance(0);
  assert.deepEqual(
    it.agent.pods()[0]?.steps.map(({ name, outcome }) => `${name} ${outcome.kind}`),
    ['directories', 'cgroup', 'volumes', 'sandbox', 'image', 'create container', 'start container'].map(
      (name) => `${name} done`,
    ),
  );
});

test('a pod fails exactly at its activeDeadlineSeconds', async () => {
  await using it = await startAgent();
  it.source.set(podOf('web', { activeDeadlineSeconds: 60 }));
  await it.host.clock.advance(59_000);
  assert.deepEqual(phases(it), { web: 'Running' });
  await it.host.clock.advance(1_000);
  const [report] = it.agent.pods();
  assert.deepEqual(
    [report?.status.phase, report?.status.reason, report?.worker],
    ['Failed', 'DeadlineExceeded', 'finished'],
  );
  assert.deepEqual(containerStates(it), ['main exited']);
});

test('a pod waits for the network of the runtime; a host-network pod does not', async () => {
  await using it = await startAgent();
  await it.host.fs.makeDirectory('/etc');
  await it.host.fs.writeFile('/etc/hosts', '127.0.0.1 localhost\n');
  it.runtime.setCondition('NetworkReady', { status: false, reason: 'NoPlugin', message: 'cni plugin not initialized' });
  it.source.set(podOf('web', { dnsPolicy: 'Default' }), podOf('host', { dnsPolicy: 'Default', hostNetwork: true }));
  await it.host.clock.advance(500);
  assert.deepEqual(phases(it), { web: 'Pending', host: 'Running' });
  assert.deepEqual(
    it.agent
      .pods()
      .find(({ pod }) => pod.metadata.name === 'web')
      ?.events.map(({ message }) => message),
    [
      'network is not ready: container runtime network not ready: NetworkReady=false reason:NoPlugin message:cni plugin not initialized',
    ],
  );
  it.runtime.setCondition('NetworkReady', { status: true });
  await it.host.clock.advance(500);
  assert.deepEqual(phases(it), { web: 'Running', host: 'Running' });
});

test('an unavailable runtime is retried soon', async () => {
  await using it = await startAgent();
  let calls = 0;
  it.runtime.failures.everyCall((method) => {
    if (method !== 'runPodSandbox') return undefined;
    calls++;
    return calls > 4 ? undefined : { kind: 'before', error: new CriError('Unavailable', 'away') };
  });
  it.source.set(podOf('web'));
  await it.host.clock.advance(100 + 200 + 400 + 800);
  assert.deepEqual(phases(it), { web: 'Running' });
});

test('a container that keeps failing its liveness probe is restarted with back-off', async () => {
  await using it = await startAgent();
  it.runtime.behaviours.set('main', { exec: () => ({ exitCode: 1 }) });
  const livenessProbe = { exec: { command: ['false'] }, periodSeconds: 1, failureThreshold: 1 };
  it.source.set(podOf('web', { containers: [{ name: 'main', image: 'busybox:1', livenessProbe }] }));
  await it.host.clock.advance(60_000);
  // Three restarts at once, as with kubelet, then after pauses of 10 s and 20 s; the next pause is 40 s.
  assert.equal(startsOf(it), 5);
});

test('an unavailable runtime is an error of the node; a stuck pod is not', async () => {
  await using it = await startAgent();
  it.runtime.behaviours.set('main', { onTerminate: 'ignore' });
  it.source.set(podOf('stuck'));
  await it.host.clock.advance(0);
  it.runtime.failures.everyCall((method) => (method === 'stopContainer' ? { kind: 'hang' } : undefined));
  it.source.set();
  await it.host.clock.advance(60_000);
  assert.deepEqual(await it.agent.nodeErrors(), []);
  it.runtime.failures.everyCall(() => ({ kind: 'before', error: new CriError('Unavailable', 'connection refused') }));
  it.runtime.failEventStreams();
  await it.host.clock.advance(10_000);
  assert.deepEqual(await it.agent.nodeErrors(), ['the runtime has not answered for 10 s: connection refused']);
  it.runtime.failures.everyCall(() => undefined);
  await it.host.clock.advance(10_000);
  assert.deepEqual(await it.agent.nodeErrors(), []);
});

test('when the runtime is unavailable for long the agent reports an unhealthy sync loop, until it is back', async () => {
  await using it = await startAgent();
  it.source.set(podOf('web'));
  await it.host.clock.advance(600_000);
  assert.equal(it.agent.syncLoopUnhealthyReason(), undefined);
  it.runtime.failures.everyCall(() => ({ kind: 'before', error: new CriError('Unavailable', 'connection refused') }));
  it.runtime.failEventStreams();
  await it.host.clock.advance(330_000);
  assert.equal(it.agent.syncLoopUnhealthyReason(), undefined);
  await it.host.clock.advance(1);
  assert.equal(it.agent.syncLoopUnhealthyReason(), 'sync Loop took longer than expected');
  it.runtime.failures.everyCall(() => undefined);
  await it.host.clock.advance(10_000);
  assert.equal(it.agent.syncLoopUnhealthyReason(), undefined);
});

test('an agent whose disk never responds reports an unhealthy sync loop', async () => {
  await using it = await startAgent();
  it.source.set(podOf('web'));
  await it.host.clock.advance(0);
  const answered = it.host.fs.readDirectory;
  const { promise, resolve } = Promise.withResolvers<[]>();
  it.host.fs.readDirectory = () => promise;
  it.source.set(podOf('web'), podOf('other'));
  await it.host.clock.advance(60_000 + 300_001); // orphans are checked each minute
  assert.equal(it.agent.syncLoopUnhealthyReason(), 'sync Loop took longer than expected');
  it.host.fs.readDirectory = answered;
  resolve([]);
  await it.host.clock.advance(0);
  assert.equal(it.agent.syncLoopUnhealthyReason(), undefined);
});

test('log symlinks exist for running containers and are removed with the pod', async () => {
  await using it = await startAgent(newWorld(), { containerLogsDir: '/var/log/containers' });
  it.source.set(podOf('web'));
  await it.host.clock.advance(0);
  const links = async () => (await it.host.fs.readDirectory('/var/log/containers')).map(({ name }) => name);
  assert.match((await links()).join(), /^web_default_main-\w+\.log$/);
  it.source.set();
  await it.host.clock.advance(0);
  assert.deepEqual(await links(), []);
});
