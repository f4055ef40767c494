import assert from 'node:assert/strict';
import { test } from 'node:test';
import { LinuxContainerResources } from '../../cri/generated/runtime-v1.ts';
import { startNri } from './fake/nri-world.ts';
import { sampleContainer, sampleSandbox, sampleSpec } from './fake/sample-records.ts';
import {
  type Container,
  ContainerAdjustment,
  ContainerUpdate,
  Event,
  type PodSandbox,
  type ValidateContainerAdjustmentRequest,
} from './generated/nri-v1alpha1.ts';

const never = new AbortController().signal;
const pod = sampleSandbox();
const container = sampleContainer();
const creating = sampleContainer({ state: { phase: 'creating' } });
const adjust = ContainerAdjustment.fromPartial;
const cpuUpdate = (containerId: string, shares: bigint, ignoreFailure = false): ContainerUpdate =>
  ContainerUpdate.fromPartial({
    containerId,
    linux: { resources: { cpu: { shares: { value: shares } } } },
    ignoreFailure,
  });

test('a plugin registers, is configured, and is synchronized', async (t) => {
  const { connect, host, sandboxes, containers } = await startNri(t);
  sandboxes.push(pod, sampleSandbox({ id: 'p2', state: { phase: 'creating' } }));
  containers.push(container, sampleContainer({ id: 'c2', state: { phase: 'creating' } }));
  const seen: unknown[] = [];
  const plugin = await connect({
    configure: (request) => {
      seen.push(request);
      return {};
    },
    synchronize: ({ pods, containers, more }) => {
      seen.push([pods.map(idOf), containers.map(idOf), more]);
      return {};
    },
  });
  await plugin.register('example', '10');
  await host.clock.advance(0);
  assert.deepEqual(seen, [
    {
      config: '',
      runtimeName: 'nodelet',
      runtimeVersion: '1.0',
      registrationTimeout: 5000n,
      requestTimeout: 2000n,
      NRIVersion: 'v0.11.0',
    },
    [['p1'], ['c1'], false],
  ]);
});

const badNames: Record<string, [name: string, index: string, message: string]> = {
  'an index of one digit': ['example', '1', 'invalid plugin index "1", must be 2 digits'],
  'an index with letters': ['example', '1a', 'invalid plugin index "1a", must be 2 digits'],
  'a name with a slash': ['../etc', '10', 'invalid plugin name "../etc"'],
  'an empty name': ['', '10', 'invalid plugin name ""'],
};
for (const [what, [name, index, message]] of Object.entries(badNames)) {
  test(`a plugin cannot register with ${what}`, async (t) => {
    const { connect } = await startNri(t);
    const plugin = await connect();
    await assert.rejects(plugin.register(name, index), { name: 'TtrpcError', message });
  });
}

test('a plugin that does not register in time is disconnected', async (t) => {
  const { connect, host, logged } = await startNri(t);
  const plugin = await connect();
  await host.clock.advance(5000);
  await plugin.closed;
  assert.deepEqual(logged, ['NRI plugin did not join']);
});

test('a plugin that subscribes to unknown events is disconnected', async (t) => {
  const { join, logged } = await startNri(t);
  await (await join('10-example', { configure: () => ({ events: 1 << 20 }) })).closed;
  assert.deepEqual(logged, ['NRI plugin did not join']);
});

test('a plugin receives a whole lifecycle in order, and each end once', async (t) => {
  const { nri, join } = await startNri(t);
  const plugin = await join('10-example');
  await nri.runPodSandbox(pod, never);
  await nri.updatePodSandbox(pod, { overhead: undefined, resources: undefined }, never);
  await nri.postUpdatePodSandbox(pod, never);
  await nri.createContainer(pod, creating, sampleSpec, never);
  await nri.postCreateContainer(pod, container, never);
  await nri.startContainer(pod, container, never);
  await nri.postStartContainer(pod, container, never);
  await nri.updateContainer(pod, container, { devices: [] }, never);
  await nri.postUpdateContainer(pod, container, never);
  await nri.stopContainer(pod, container, never);
  await nri.stopContainer(pod, container, never);
  await nri.removeContainer(pod, container, never);
  await nri.removeContainer(pod, container, never);
  await nri.stopPodSandbox(pod, never);
  await nri.stopPodSandbox(pod, never);
  await nri.removePodSandbox(pod, never);
  assert.deepEqual(plugin.calls, [
    'runPodSandbox p1',
    'updatePodSandbox p1',
    'postUpdatePodSandbox p1',
    'createContainer c1',
    'validateContainerAdjustment c1',
    'postCreateContainer c1',
    'startContainer c1',
    'postStartContainer c1',
    'updateContainer c1',
    'postUpdateContainer c1',
    'stopContainer c1',
    'removeContainer c1',
    'stopPodSandbox p1',
    'removePodSandbox p1',
  ]);
});

test('a plugin receives only subscribed events', async (t) => {
  const { nri, join } = await startNri(t);
  const plugin = await join('10-example', { configure: () => ({ events: 1 << (Event.STOP_POD_SANDBOX - 1) }) });
  await nri.runPodSandbox(pod, never);
  await nri.stopPodSandbox(pod, never);
  assert.deepEqual(plugin.calls, ['stopPodSandbox p1']);
});

test('a plugin of an older version receives StateChange', async (t) => {
  const { nri, join } = await startNri(t);
  const events: number[] = [];
  const stateChange = ({ event }: { event: number }) => {
    events.push(event);
    return {};
  };
  const plugin = await join('10-example', { stateChange }, ['runPodSandbox']);
  await nri.runPodSandbox(pod, never);
  await nri.runPodSandbox(pod, never);
  assert.deepEqual(plugin.calls, ['runPodSandbox p1', 'stateChange p1', 'stateChange p1']);
  assert.deepEqual(events, [Event.RUN_POD_SANDBOX, Event.RUN_POD_SANDBOX]);
});

test('plugins are called in the order of their index, each with the adjustments of those before', async (t) => {
  const { nri, join } = await startNri(t);
  const seen: unknown[] = [];
  const adds = (key: string) => ({
    createContainer: ({ container }: { container: Container | undefined }) => {
      seen.push([key, container?.env]);
      return { adjust: adjust({ env: [{ key, value: '1' }] }) };
    },
  });
  await join('20-late', adds('LATE'));
  await join('10-early', adds('EARLY'));
  const { spec } = await nri.createContainer(pod, creating, sampleSpec, never);
  assert.deepEqual(seen, [
    ['EARLY', ['PATH=/bin', 'COLOR=red']],
    ['LATE', ['PATH=/bin', 'COLOR=red', 'EARLY=1']],
  ]);
  assert.deepEqual(spec.process.env, ['PATH=/bin', 'COLOR=red', 'EARLY=1', 'LATE=1']);
});

test('two plugins that set the same field are a conflict, and all are notified of the removal', async (t) => {
  const { nri, join } = await startNri(t);
  const createContainer = () => ({ adjust: adjust({ linux: { resources: { cpu: { shares: { value: 1n } } } } }) });
  const first = await join('10-first', { createContainer });
  const second = await join('20-second', { createContainer });
  await assert.rejects(nri.createContainer(pod, creating, sampleSpec, never), {
    name: 'CriError',
    message: 'NRI: plugins "20-second" and "10-first" both tried to set CPUShares',
  });
  for (const plugin of [first, second]) {
    assert.deepEqual(plugin.calls, ['createContainer c1', 'stopContainer c1', 'removeContainer c1']);
  }
});

test('an unsupported request is rejected with the plugin and the field', async (t) => {
  const { nri, join } = await startNri(t);
  await join('10-cdi', { createContainer: () => ({ adjust: adjust({ CDIDevices: [{ name: 'v/c=1' }] }) }) });
  await assert.rejects(nri.createContainer(pod, creating, sampleSpec, never), {
    message: 'NRI plugin 10-cdi: CDI_devices: CDI devices are not supported',
  });
});

test('CDI devices are resolved by the injector', async (t) => {
  const injectCdiDevices = async (spec: typeof sampleSpec, names: readonly string[]) => ({
    ...spec,
    annotations: { cdi: names.join() },
  });
  const { nri, join } = await startNri(t, { injectCdiDevices });
  await join('10-cdi', { createContainer: () => ({ adjust: adjust({ CDIDevices: [{ name: 'v/c=1' }] }) }) });
  const { spec } = await nri.createContainer(pod, creating, sampleSpec, never);
  assert.deepEqual(spec.annotations, { cdi: 'v/c=1' });
});

test('updates of other containers are merged; evictions are executed', async (t) => {
  const { nri, join, runtimeCalls, host } = await startNri(t);
  await join('10-first', {
    createContainer: () => ({ update: [cpuUpdate('c5', 7n)], evict: [{ containerId: 'c6', reason: 'noisy' }] }),
  });
  await join('20-second', {
    createContainer: () => ({
      update: [ContainerUpdate.fromPartial({ containerId: 'c5', linux: { resources: { cpu: { cpus: '0' } } } })],
    }),
  });
  const { updates } = await nri.createContainer(pod, creating, sampleSpec, never);
  const resources = { devices: [], cpu: { shares: 7, cpus: '0' } };
  assert.deepEqual(updates, [{ containerId: 'c5', resources, ignoreFailure: false }]);
  await host.clock.advance(0);
  assert.deepEqual(runtimeCalls, ['evict c6 noisy']);
});

test('an update of the container that is being created is rejected', async (t) => {
  const { nri, join } = await startNri(t);
  await join('10-example', { createContainer: () => ({ update: [cpuUpdate('c1', 7n)] }) });
  await assert.rejects(nri.createContainer(pod, creating, sampleSpec, never), {
    message: 'NRI plugin 10-example: update: container c1 is still being created',
  });
});

test('a conflicting update is dropped if the plugin ignores failures', async (t) => {
  const { nri, join } = await startNri(t);
  await join('10-first', { stopContainer: () => ({ update: [cpuUpdate('c5', 7n)] }) });
  await join('20-second', { createContainer: () => ({ update: [cpuUpdate('c5', 8n, true)] }) });
  await join('15-other', { createContainer: () => ({ update: [cpuUpdate('c5', 9n)] }) });
  const { updates } = await nri.createContainer(pod, creating, sampleSpec, never);
  assert.deepEqual(
    updates.map(({ resources }) => resources.cpu),
    [{ shares: 9 }],
  );
  assert.deepEqual(
    (await nri.stopContainer(pod, container, never)).map(({ resources }) => resources.cpu),
    [{ shares: 7 }],
  );
});

test('plugins change the resources of an update in order', async (t) => {
  const { nri, join } = await startNri(t);
  const shares: unknown[] = [];
  await join('10-first', { updateContainer: () => ({ update: [cpuUpdate('c1', 7n), cpuUpdate('c2', 8n)] }) });
  await join('20-second', {
    updateContainer: ({ linuxResources }) => {
      shares.push(linuxResources?.cpu?.shares?.value);
      return {};
    },
  });
  const resources = { devices: [], cpu: { shares: 1, quota: 5 } };
  assert.deepEqual(await nri.updateContainer(pod, container, resources, never), {
    resources: { devices: [], cpu: { shares: 7, quota: 5 } },
    updates: [{ containerId: 'c2', resources: { devices: [], cpu: { shares: 8 } }, ignoreFailure: false }],
  });
  assert.deepEqual(shares, [7n]);
});

test('a validator receives all adjustments with their owners, and may reject them', async (t) => {
  const { nri, join } = await startNri(t);
  const seen: ValidateContainerAdjustmentRequest[] = [];
  await join('10-first', {
    createContainer: () => ({ adjust: adjust({ env: [{ key: 'A', value: '1' }], args: ['x'] }) }),
  });
  await join('20-guard', {
    validateContainerAdjustment: (request) => {
      seen.push(request);
      return { reject: true, reason: 'not here' };
    },
  });
  await assert.rejects(nri.createContainer(pod, creating, sampleSpec, never), {
    message: 'validator "20-guard" rejected container adjustment, reason: not here',
  });
  assert.deepEqual(seen[0]?.adjust?.args, ['x']);
  assert.deepEqual(seen[0]?.container?.args, ['/bin/app', '--quiet']);
  assert.deepEqual(seen[0]?.owners?.owners['c1'], {
    simple: { 7: '10-first' },
    compound: { 6: { owners: { A: '10-first' } } },
  });
  assert.deepEqual(seen[0]?.plugins, [
    { name: 'first', index: '10' },
    { name: 'guard', index: '20' },
  ]);
});

test('a plugin that rejects a sandbox fails it, and all are notified of the removal', async (t) => {
  const { nri, join } = await startNri(t);
  const first = await join('10-first');
  await join('20-second', {
    runPodSandbox: () => {
      throw new Error('not today');
    },
  });
  await assert.rejects(nri.runPodSandbox(pod, never), {
    name: 'CriError',
    code: 'Unknown',
    message: 'NRI plugin 20-second rejected RunPodSandbox: not today',
  });
  assert.deepEqual(first.calls, ['runPodSandbox p1', 'stopPodSandbox p1', 'removePodSandbox p1']);
});

test('a plugin that rejects a notification is logged, and the others are notified', async (t) => {
  const { nri, join, logged } = await startNri(t);
  await join('10-first', {
    stopPodSandbox: () => {
      throw new Error('no');
    },
  });
  const second = await join('20-second');
  await nri.runPodSandbox(pod, never);
  await nri.stopPodSandbox(pod, never);
  assert.deepEqual(second.calls, ['runPodSandbox p1', 'stopPodSandbox p1']);
  assert.deepEqual(logged.at(-1), 'NRI plugin rejected a notification 10-first');
});

test('a plugin that does not respond in time is disconnected, and the others continue', async (t) => {
  const { nri, join, host, logged } = await startNri(t);
  const hung = await join('10-hung', { startContainer: () => new Promise(() => {}) });
  const other = await join('20-other');
  await host.clock.runUntil(nri.startContainer(pod, container, never));
  assert.equal(host.clock.monotonic(), 2000);
  await hung.closed;
  await nri.startContainer(pod, container, never);
  assert.deepEqual(hung.calls, ['startContainer c1']);
  assert.deepEqual(other.calls, ['startContainer c1', 'startContainer c1']);
  assert.equal(logged.at(-1), 'NRI plugin does not respond; disconnecting 10-hung');
});

test('a plugin that disconnects during a request is dropped, and the others continue', async (t) => {
  const { nri, join } = await startNri(t);
  const held = Promise.withResolvers<Record<string, never>>();
  const leaving = await join('10-leaving', {
    startContainer: () => {
      leaving.close();
      return held.promise;
    },
  });
  const other = await join('20-other');
  await nri.startContainer(pod, container, never);
  assert.deepEqual(other.calls, ['startContainer c1']);
});

test('an aborted caller does not disconnect the plugin', async (t) => {
  const { nri, join } = await startNri(t);
  const controller = new AbortController();
  const answers = [
    () => {
      controller.abort(new Error('enough'));
      return new Promise<Record<string, never>>(() => {});
    },
    () => ({}),
  ];
  const plugin = await join('10-slow', { startContainer: () => answers.shift()?.() ?? {} });
  await assert.rejects(nri.startContainer(pod, container, controller.signal), { message: 'enough' });
  await nri.startContainer(pod, container, never);
  assert.deepEqual(plugin.calls, ['startContainer c1', 'startContainer c1']);
});

test('a container created during the synchronization of a plugin is reported to it', async (t) => {
  const { nri, connect, host } = await startNri(t);
  const release = Promise.withResolvers<Record<string, never>>();
  const plugin = await connect({ synchronize: () => release.promise });
  await plugin.register('example', '10');
  await host.clock.advance(0);
  const created = nri.createContainer(pod, creating, sampleSpec, never);
  release.resolve({});
  await created;
  assert.deepEqual(plugin.calls, ['configure', 'synchronize', 'createContainer c1', 'validateContainerAdjustment c1']);
});

test('a plugin that joins between the creation of a container and its notification gets the container', async (t) => {
  const { nri, connect, host, sandboxes } = await startNri(t);
  sandboxes.push(sampleSandbox({ state: { phase: 'creating' } }));
  await nri.runPodSandbox(pod, never);
  await nri.createContainer(pod, creating, sampleSpec, never);
  const seen: unknown[] = [];
  const plugin = await connect({
    synchronize: ({ pods, containers }) => {
      seen.push(pods.map(idOf), containers.map(idOf));
      return {};
    },
  });
  await plugin.register('example', '10');
  await host.clock.advance(0);
  assert.deepEqual(seen, [['p1'], ['c1']]);
});

test('updates in the response to Synchronize are executed', async (t) => {
  const { join, runtimeCalls } = await startNri(t);
  await join('10-example', { synchronize: () => ({ update: [cpuUpdate('c1', 3n)] }) });
  assert.deepEqual(runtimeCalls, ['update c1 {"devices":[],"cpu":{"shares":3}}']);
});

test('a plugin that cannot be synchronized does not join', async (t) => {
  const { nri, join } = await startNri(t);
  const plugin = await join('10-example', {
    synchronize: () => {
      throw new Error('no');
    },
  });
  await plugin.closed;
  await nri.runPodSandbox(pod, never);
  assert.deepEqual(plugin.calls, []);
});

test('a plugin may request updates and evictions by itself, and gets the failed ones', async (t) => {
  const { join, runtimeCalls } = await startNri(t);
  const plugin = await join('10-example');
  const broken = cpuUpdate('broken', 1n);
  const { failed } = await plugin.updateContainers({
    update: [cpuUpdate('c1', 3n), broken, cpuUpdate('broken', 2n, true)],
    evict: [{ containerId: 'c9', reason: 'why not' }],
  });
  assert.deepEqual(failed, [broken]);
  assert.deepEqual(runtimeCalls, [
    'update c1 {"devices":[],"cpu":{"shares":3}}',
    'update broken {"devices":[],"cpu":{"shares":1}}',
    'update broken {"devices":[],"cpu":{"shares":2}}',
    'evict c9 why not',
  ]);
});

test('the resources of a pod are reported before they change', async (t) => {
  const { nri, join } = await startNri(t);
  const seen: unknown[] = [];
  await join('10-example', {
    updatePodSandbox: ({ overheadLinuxResources, linuxResources }) => {
      seen.push(overheadLinuxResources?.cpu?.shares?.value, linuxResources?.memory?.limit?.value);
      return {};
    },
  });
  const overhead = LinuxContainerResources.fromPartial({ cpuShares: 20n });
  const resources = LinuxContainerResources.fromPartial({ memoryLimitInBytes: 7n });
  await nri.updatePodSandbox(pod, { overhead, resources }, never);
  assert.deepEqual(seen, [20n, 7n]);
});

test('at shutdown plugins are notified, and the socket is removed', async (t) => {
  const { join, end, running, host } = await startNri(t);
  const plugin = await join('10-example');
  assert.equal((await host.fs.stat('/run/nri'))?.mode, 0o700);
  end.abort();
  await running;
  await plugin.closed;
  assert.deepEqual(plugin.calls, ['shutdown']);
  assert.deepEqual(await host.fs.readDirectory('/run/nri'), []);
});

function idOf({ id }: PodSandbox | Container): string {
  return id;
}
