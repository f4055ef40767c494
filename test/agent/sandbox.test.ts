/** Runtime classes and user namespaces of sandboxes, on virtual time. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { RuntimeClass } from '../../src/api/generated/core-v1.ts';
import { NamespaceMode } from '../../src/cri/generated/runtime-v1.ts';
import {
  createPod,
  type MemoryAgent,
  newWorld,
  podOf,
  SETTINGS,
  startAgent,
  startClusterAgent,
} from './memory-agent.ts';

const never = new AbortController().signal;
const ALL = { recursiveReadOnlyMounts: true, userNamespaces: true };
const fast: RuntimeClass = { metadata: { name: 'fast' }, handler: 'runc' };

function handlers({ runtime }: Pick<MemoryAgent, 'runtime'>): string[] {
  return [...runtime.sandboxes.values()].map(({ runtimeHandler }) => runtimeHandler);
}

function warnings({ agent }: MemoryAgent): string[] {
  const events = agent.pods().flatMap((report) => report.events);
  const shown = events.filter(({ type, reason }) => type === 'Warning' && reason !== 'MissingClusterDNS');
  return [...new Set(shown.map(({ reason, message }) => `${reason}: ${message}`))];
}

function phases({ agent }: MemoryAgent): (string | undefined)[] {
  return agent.pods().map(({ status }) => status.phase);
}

test('a pod runs with the handler of its class, from a document beside it', async () => {
  await using it = await startAgent();
  it.source.setObjects({ runtimeClasses: [fast] });
  it.source.set(podOf('web', { runtimeClassName: 'fast' }));
  await it.host.clock.advance(1000);
  assert.deepEqual(handlers(it), ['runc']);
});

test('a pod with an unknown class shows that, and starts once the class exists', async () => {
  await using it = await startAgent();
  it.source.set(podOf('web', { runtimeClassName: 'fast' }));
  await it.host.clock.advance(1000);
  assert.deepEqual(warnings(it), [
    'FailedCreatePodSandBox: Failed to create pod sandbox: runtimeclass.node.k8s.io "fast" not found',
  ]);
  it.source.setObjects({ runtimeClasses: [fast] });
  await it.host.clock.advance(1000);
  assert.deepEqual(phases(it), ['Running']);
});

test('a class whose handler the runtime does not have shows the error of the runtime', async () => {
  await using it = await startAgent();
  it.source.setObjects({ runtimeClasses: [{ ...fast, handler: 'kata' }] });
  it.source.set(podOf('web', { runtimeClassName: 'fast' }));
  await it.host.clock.advance(1000);
  const said = 'failed to get sandbox runtime: no runtime for "kata" is configured';
  assert.deepEqual(warnings(it), [
    `FailedCreatePodSandBox: Failed to create pod sandbox: rpc error: code = Unknown desc = ${said}`,
  ]);
});

test('the classes of a cluster come from the API server; a running pod does not need them', async () => {
  await using it = await startClusterAgent();
  const { direct } = it.apiServer;
  await createPod(it, podOf('web', { runtimeClassName: 'fast' }));
  await it.host.clock.advance(1000);
  assert.match(warnings(it).join(), /"fast" not found/);

  const key = { resource: 'runtimeclasses', namespace: '', name: 'fast' } as const;
  await direct.create(key, fast, never);
  await it.host.clock.advance(0);
  assert.deepEqual(handlers(it), ['runc']);

  const sandboxes = [...it.runtime.sandboxes.keys()];
  await direct.update(key, { ...(await direct.get(key, never)), handler: '' }, never);
  await it.host.clock.advance(60_000);
  await direct.delete(key, {}, never);
  const [container] = it.runtime.containers.keys();
  it.runtime.exitContainer(container ?? '', { exitCode: 1 });
  await it.host.clock.advance(120_000);
  assert.deepEqual([...it.runtime.sandboxes.keys()], sandboxes);
  assert.deepEqual(phases(it), ['Running']);
  assert.equal(it.agent.pods()[0]?.status.containerStatuses?.[0]?.restartCount, 1);
});

test('a user namespace needs a runtime that supports it, and the pod starts once it does', async () => {
  await using it = await startAgent();
  it.source.set(podOf('web', { hostUsers: false }));
  await it.host.clock.advance(1000);
  const why = "can't set `spec.hostUsers: false`, runtime does not support user namespaces";
  assert.deepEqual(warnings(it), [`FailedCreatePodSandBox: Failed to create pod sandbox: ${why}`]);
  it.runtime.handlers.set('', ALL);
  await it.host.clock.advance(120_000);
  assert.deepEqual(phases(it), ['Running']);
});

test('a node without its resolv.conf starts no pods until the file exists', async () => {
  await using it = await startAgent(newWorld(), { resolvConf: '/etc/resolv.conf' });
  it.source.set(podOf('web'));
  await it.host.clock.advance(1000);
  assert.deepEqual(warnings(it), [
    'FailedCreatePodSandBox: Failed to create pod sandbox: open /etc/resolv.conf: no such file or directory',
  ]);
  await it.host.fs.makeDirectory('/etc');
  await it.host.fs.writeFile('/etc/resolv.conf', 'nameserver 192.0.2.53\n');
  await it.host.clock.advance(15_000);
  assert.deepEqual(phases(it), ['Running']);
});

test('a pod keeps its user namespace for its lifetime, in sandbox, containers and mounts', async () => {
  const world = newWorld();
  world.runtime.handlers.set('', ALL);
  const first = await startAgent(world);
  first.source.set(podOf('a', { hostUsers: false }), podOf('b', { hostUsers: false }));
  await world.host.clock.advance(1000);
  assert.deepEqual(hostIds(first), [65_536, 131_072]);
  for (const { config } of world.runtime.containers.values()) {
    const users = config.linux?.securityContext?.namespaceOptions?.usernsOptions;
    assert.equal(users?.mode, NamespaceMode.POD);
    assert.ok(config.mounts.length > 0);
    for (const mount of config.mounts) assert.deepEqual(mount.uidMappings, users?.uids);
  }
  await first.stop();

  await using next = await startAgent(world);
  next.source.set(podOf('b', { hostUsers: false }), podOf('c', { hostUsers: false }));
  await world.host.clock.advance(60_000);
  // The range of the removed pod is free again, but not reused at once.
  assert.deepEqual(hostIds(next), [131_072, 196_608]);
  assert.equal(await world.host.fs.stat(`${SETTINGS.rootDir}/pods/uid-a`), undefined);
});

test('recursive read-only mounts are used where the runtime supports them, and shown in the status', async () => {
  const world = newWorld();
  await using it = await startAgent(world);
  const mount = { name: 'data', mountPath: '/data', readOnly: true };
  it.source.set(
    podOf('web', {
      volumes: [{ name: 'data', emptyDir: {} }],
      containers: [
        { name: 'can', image: 'busybox:1', volumeMounts: [{ ...mount, recursiveReadOnly: 'IfPossible' }] },
        { name: 'must', image: 'busybox:1', volumeMounts: [{ ...mount, recursiveReadOnly: 'Enabled' }] },
      ],
    }),
  );
  await it.host.clock.advance(1000);
  const states = (): unknown[] =>
    it.agent
      .pods()
      .flatMap(({ status }) => status.containerStatuses ?? [])
      .map(({ name, state, volumeMounts }) => [
        name,
        state?.waiting?.reason ?? 'Running',
        volumeMounts?.[0]?.recursiveReadOnly,
      ]);
  assert.deepEqual(states(), [
    ['can', 'Running', 'Disabled'],
    ['must', 'CreateContainerConfigError', 'Disabled'],
  ]);
  world.runtime.handlers.set('', ALL);
  await it.host.clock.advance(120_000);
  assert.deepEqual(states(), [
    ['can', 'Running', 'Enabled'],
    ['must', 'Running', 'Enabled'],
  ]);
});

const signalled = (name: string) =>
  podOf(name, {
    os: { name: 'linux' },
    containers: [{ name: 'main', image: 'busybox:1', lifecycle: { stopSignal: 'SIGUSR1' } }],
  });

test('a stop signal is used while its gate is on, and shown in the status', async () => {
  await using it = await startAgent(newWorld(), { containerStopSignals: true });
  it.source.set(signalled('web'));
  await it.host.clock.advance(1000);
  assert.equal(it.agent.pods()[0]?.status.containerStatuses?.[0]?.stopSignal, 'SIGUSR1');
  assert.deepEqual(warnings(it), []);
});

test('a stop signal is rejected while its gate is off', async () => {
  await using it = await startAgent();
  it.source.set(signalled('web'));
  await it.host.clock.advance(1000);
  const { phase, reason, message } = it.agent.pods()[0]?.status ?? {};
  assert.deepEqual(
    [phase, reason, message],
    [
      'Failed',
      'PodFeatureUnsupported',
      'Pod was rejected: spec.containers[0].lifecycle.stopSignal needs the feature gate ContainerStopSignals, which is off',
    ],
  );
});

function hostIds({ runtime }: MemoryAgent): number[] {
  const ids = [...runtime.sandboxes.values()].flatMap(
    ({ config }) => config.linux?.securityContext?.namespaceOptions?.usernsOptions?.uids ?? [],
  );
  return ids.map(({ hostId }) => hostId).toSorted((a, b) => a - b);
}
