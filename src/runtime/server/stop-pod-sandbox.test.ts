import assert from 'node:assert/strict';
import { test } from 'node:test';
import { abortable } from '../../base/abortable.ts';
import { CriError } from '../../cri/cri-error.ts';
import { ContainerEventType, PodSandboxState } from '../../cri/generated/runtime-v1.ts';
import { noNri } from '../nri/nri.ts';
import { createSandboxWorld, podConfig, podWith, type SandboxWorld, signal } from '../sandbox/fake/sandbox-world.ts';

const { SANDBOX_READY, SANDBOX_NOTREADY } = PodSandboxState;
const { CONTAINER_STOPPED_EVENT, CONTAINER_DELETED_EVENT } = ContainerEventType;

async function ready(change?: Parameters<typeof podConfig>[0]) {
  const world = await createSandboxWorld();
  const id = await run(world, change);
  world.events.length = 0;
  return { world, id, ...verbsOf(world, id) };
}

async function run(world: SandboxWorld, change?: Parameters<typeof podConfig>[0]): Promise<string> {
  const request = { config: podConfig(change), runtimeHandler: '' };
  return (await world.sandboxes.verbs.runPodSandbox(request, signal)).podSandboxId;
}

function verbsOf(world: SandboxWorld, podSandboxId: string) {
  return {
    stop: (limit = signal) => world.sandboxes.verbs.stopPodSandbox({ podSandboxId }, limit),
    remove: (limit = signal) => world.sandboxes.verbs.removePodSandbox({ podSandboxId }, limit),
    recordState: () => world.sandboxes.view.find(podSandboxId)?.state,
    status: async (verbose = false) => {
      const answer = await world.sandboxes.verbs.podSandboxStatus({ podSandboxId, verbose }, signal);
      return { ...answer, state: answer.status?.state, ip: answer.status?.network?.ip };
    },
    publishedTypes: () => world.events.map(({ type }) => type),
  };
}

test('StopPodSandbox stops the containers, then releases everything but files and record', async () => {
  const { world, id, stop, recordState, status, publishedTypes } = await ready();
  await stop();
  assert.deepEqual(world.containers.calls, [`stopAll ${id}`]);
  assert.deepEqual(recordState(), { phase: 'notReady', networkDown: true, stopAsked: true });
  const left = [`/lib/sandboxes/${id}.json`, `/run/sandboxes/${id}`, `/lib/sandbox-files/${id}`];
  assert.deepEqual(await world.leftovers(), left);
  const { state, ip } = await status();
  assert.deepEqual({ state, ip }, { state: SANDBOX_NOTREADY, ip: '' });
  assert.deepEqual(publishedTypes(), [CONTAINER_STOPPED_EVENT]);
});

test('StopPodSandbox is idempotent, and succeeds for an unknown id', async () => {
  const { world, stop, publishedTypes } = await ready();
  await stop();
  await stop();
  await world.sandboxes.verbs.stopPodSandbox({ podSandboxId: 'unknown' }, signal);
  await world.sandboxes.verbs.stopPodSandbox({ podSandboxId: '' }, signal);
  assert.equal(world.network.tearDowns.length, 1);
  assert.deepEqual(publishedTypes(), [CONTAINER_STOPPED_EVENT]);
});

test('StopPodSandbox ignores errors of NRI plugins', async () => {
  const { world, stop, remove } = await ready();
  const failing = async (): Promise<never> => {
    throw new Error('no');
  };
  world.nri = { ...noNri, stopPodSandbox: failing, removePodSandbox: failing };
  await stop();
  await remove();
  assert.deepEqual(await world.leftovers(), []);
});

const stopFaults: Record<string, { disturb: (world: SandboxWorld, id: string) => void; message: RegExp }> = {
  'a container does not stop': {
    disturb: ({ containers }) => {
      containers.failures.stopAll = new CriError('DeadlineExceeded', 'it does not end');
    },
    message: /^it does not end$/,
  },
  'the network teardown fails': {
    disturb: ({ network }) => network.failNext('tearDown', new Error('plugin "bridge" failed')),
    message: /^failed to stop sandbox "[0-9a-f]{64}": plugin "bridge" failed$/,
  },
  'a namespace cannot be removed': {
    disturb: ({ host }) => host.namespaces.errors.failNext('remove', 'EIO'),
    message: /^failed to stop sandbox .*EIO$/,
  },
  'shm cannot be unmounted': {
    disturb: ({ host, paths }, id) => host.mounts.errors.failNext('unmount', 'EIO', `${paths.sandbox(id)}/shm`),
    message: /^failed to stop sandbox .*EIO$/,
  },
  'the record cannot be written at the end': {
    disturb: (world) => {
      world.nri = { ...noNri, stopPodSandbox: async () => world.host.fs.errors.failNext('writeReplacing', 'EIO') };
    },
    message: /EIO/,
  },
};
for (const [what, { disturb, message }] of Object.entries(stopFaults)) {
  test(`StopPodSandbox fails when ${what}; the sandbox is not ready, and the next call finishes`, async () => {
    const { world, id, stop, remove, recordState, status } = await ready();
    disturb(world, id);
    await assert.rejects(stop(), { message });
    world.nri = noNri;
    assert.deepEqual(recordState(), { phase: 'notReady', networkDown: false, stopAsked: true });
    assert.equal((await status()).state, SANDBOX_NOTREADY);
    await stop();
    assert.deepEqual(recordState(), { phase: 'notReady', networkDown: true, stopAsked: true });
    await remove();
    assert.deepEqual(await world.leftovers(), []);
  });
}

test('a failed StopPodSandbox is finished later without a new request', async () => {
  const { world, stop, recordState } = await ready();
  for (let i = 0; i < 3; i++) world.network.failNext('tearDown');
  await assert.rejects(stop());
  await world.host.clock.advance(1500);
  assert.deepEqual([world.network.tearDowns.length, world.network.held.size], [2, 1]);
  await world.host.clock.advance(60_000);
  assert.deepEqual([world.network.tearDowns.length, world.network.held.size], [4, 0]);
  assert.deepEqual(recordState(), { phase: 'notReady', networkDown: true, stopAsked: true });
});

test('an aborted StopPodSandbox is finished later', async () => {
  const { world, stop, recordState } = await ready();
  const caller = new AbortController();
  world.nri = { ...noNri, stopPodSandbox: async () => caller.abort(new Error('gave up')) };
  await assert.rejects(stop(caller.signal), { message: 'gave up' });
  world.nri = noNri;
  await world.host.clock.advance(2000);
  assert.deepEqual(recordState(), { phase: 'notReady', networkDown: true, stopAsked: true });
});

test('RemovePodSandbox stops first, removes the containers, and releases the name', async () => {
  const { world, id, remove, publishedTypes } = await ready();
  const statuses: unknown[] = [];
  const { push } = world.events;
  world.events.push = (...happenings) => {
    statuses.push(world.sandboxes.view.status(id)?.metadata?.uid);
    return push.apply(world.events, happenings);
  };
  await remove();
  assert.deepEqual(world.containers.calls, [`stopAll ${id}`, `removeAll ${id}`]);
  assert.deepEqual(publishedTypes(), [CONTAINER_STOPPED_EVENT, CONTAINER_DELETED_EVENT]);
  assert.deepEqual(statuses, ['u1', 'u1'], 'the last event still has the pod status');
  assert.equal(world.sandboxes.view.status(id), undefined);
  assert.deepEqual(await world.leftovers(), []);
  await run(world);
});

test('RemovePodSandbox is idempotent, also concurrently', async () => {
  const { world, remove, publishedTypes } = await ready();
  await Promise.all([remove(), remove()]);
  await remove();
  assert.deepEqual(publishedTypes(), [CONTAINER_STOPPED_EVENT, CONTAINER_DELETED_EVENT]);
  assert.deepEqual(await world.leftovers(), []);
});

const removeFaults: Record<string, (world: SandboxWorld) => void> = {
  'a container cannot be removed': ({ containers }) => {
    containers.failures.removeAll = new Error('it stays');
  },
  'a directory cannot be removed': ({ host }) => host.fs.errors.failNext('removeTree', 'EIO'),
  'the record cannot be removed': ({ host, sandboxes, paths }) => {
    const [id] = sandboxes.view.all.keys();
    host.fs.errors.failNext('remove', 'EIO', `${paths.sandboxRecords}/${id}.json`);
  },
};
for (const [what, disturb] of Object.entries(removeFaults)) {
  test(`RemovePodSandbox fails when ${what}, keeps the name, and finishes the next time`, async () => {
    const { world, remove, publishedTypes } = await ready();
    disturb(world);
    await assert.rejects(remove());
    await assert.rejects(run(world), { code: 'AlreadyExists' });
    await remove();
    assert.deepEqual(publishedTypes(), [CONTAINER_STOPPED_EVENT, CONTAINER_DELETED_EVENT]);
    assert.deepEqual(await world.leftovers(), []);
  });
}

test('StopPodSandbox and RemovePodSandbox wait for a RunPodSandbox in progress', async () => {
  const world = await createSandboxWorld();
  let removing: Promise<unknown> | undefined;
  world.nri = {
    ...noNri,
    runPodSandbox: async ({ id }) => {
      removing = verbsOf(world, id).remove();
    },
  };
  await run(world);
  await removing;
  assert.deepEqual(await world.leftovers(), []);
});

test('a sandbox whose pause process exits becomes not ready, and publishes an event', async () => {
  const world = await createSandboxWorld();
  const { verbs } = world.sandboxes;
  const { podSandboxId: id } = await verbs.runPodSandbox(
    { config: podWith('sharedProcesses'), runtimeHandler: '' },
    signal,
  );
  world.events.length = 0;
  const { status, recordState, publishedTypes, remove } = verbsOf(world, id);
  assert.equal(JSON.parse((await status(true)).info['info'] ?? '').pid, 1001);
  world.oci.exit(id, 0);
  await world.host.clock.advance(0);
  assert.deepEqual(
    [(await status()).state, recordState(), publishedTypes()],
    [SANDBOX_NOTREADY, { phase: 'notReady', networkDown: false }, [CONTAINER_STOPPED_EVENT]],
  );
  assert.equal(world.network.held.size, 1, 'containers may still use the network: no stop was requested');
  await remove();
  assert.deepEqual(await world.leftovers(), []);
});

test('an exit of a pause process that cannot be recorded at once is recorded later', async () => {
  const world = await createSandboxWorld();
  const request = { config: podWith('sharedProcesses'), runtimeHandler: '' };
  const { podSandboxId: id } = await world.sandboxes.verbs.runPodSandbox(request, signal);
  world.host.fs.errors.failNext('writeReplacing', 'EIO');
  world.oci.exit(id, 0);
  await world.host.clock.advance(0);
  assert.deepEqual(verbsOf(world, id).recordState(), { phase: 'ready' });
  await world.host.clock.advance(2000);
  assert.deepEqual(verbsOf(world, id).recordState(), { phase: 'notReady', networkDown: false });
});

test('a pause process that temporarily cannot be watched does not count as exited', async (t) => {
  const world = await createSandboxWorld();
  t.mock.method(world.oci, 'wait').mock.mockImplementationOnce(async () => {
    throw new Error('too many open files');
  });
  const request = { config: podWith('sharedProcesses'), runtimeHandler: '' };
  const { podSandboxId: id } = await world.sandboxes.verbs.runPodSandbox(request, signal);
  await world.host.clock.advance(2000);
  assert.deepEqual(verbsOf(world, id).recordState(), { phase: 'ready' });
  world.oci.exit(id, 0);
  await world.host.clock.advance(0);
  assert.deepEqual(verbsOf(world, id).recordState(), { phase: 'notReady', networkDown: false });
});

test('a shutdown does not wait for plugins: the next process finishes the stop', async (t) => {
  const { world, stop, recordState } = await ready();
  world.network.failNext('tearDown');
  await assert.rejects(stop());
  t.mock
    .method(world.network, 'tearDown')
    .mock.mockImplementationOnce((_pod, until) => abortable(new Promise<never>(() => {}), until));
  await world.host.clock.advance(1500);
  await world.restart();
  await world.host.clock.advance(2000);
  assert.deepEqual(recordState(), { phase: 'notReady', networkDown: true, stopAsked: true });
});

test('PodSandboxStatus reports addresses, namespaces, labels and the handler', async () => {
  const world = await createSandboxWorld();
  const request = { config: podConfig({ annotations: { a: 'b' } }), runtimeHandler: 'plain' };
  const { podSandboxId: id } = await world.sandboxes.verbs.runPodSandbox(request, signal);
  const { status, info, containersStatuses, timestamp } = await verbsOf(world, id.slice(0, 12)).status();
  const { metadata, labels, annotations, linux } = request.config;
  assert.deepEqual(
    { status, info, containersStatuses, timestamp },
    {
      status: {
        id,
        metadata,
        state: SANDBOX_READY,
        createdAt: BigInt(world.host.clock.now()) * 1_000_000n,
        network: { ip: '10.88.0.2', additionalIps: [] },
        linux: { namespaces: { options: linux?.securityContext?.namespaceOptions } },
        labels,
        annotations,
        runtimeHandler: 'plain',
      },
      info: {},
      containersStatuses: [],
      timestamp: BigInt(world.host.clock.now()) * 1_000_000n,
    },
  );
  const verbose = JSON.parse((await verbsOf(world, id).status(true)).info['info'] ?? '');
  assert.deepEqual([verbose.pid, verbose.netNamespaceClosed, verbose.runtimeHandler], [0, false, 'plain']);
});

test('PodSandboxStatus of an unknown sandbox is NotFound', async () => {
  const world = await createSandboxWorld();
  await assert.rejects(verbsOf(world, 'none').status(), { code: 'NotFound', message: 'sandbox "none" not found' });
});

test('ListPodSandbox filters by id, id prefix, state and labels', async () => {
  const world = await createSandboxWorld();
  const metadata = (name: string) => ({ metadata: { name, namespace: 'n', uid: name, attempt: 0 } });
  const one = await run(world, { ...metadata('one'), labels: { app: 'a', tier: 'x' } });
  const two = await run(world, { ...metadata('two'), labels: { app: 'a' } });
  await world.sandboxes.verbs.stopPodSandbox({ podSandboxId: two }, signal);
  const list = async (filter: { id?: string; state?: PodSandboxState; labels?: Record<string, string> }) => {
    const { id = '', state, labels: labelSelector = {} } = filter;
    const wanted = { id, labelSelector, state: state === undefined ? undefined : { state } };
    return (await world.sandboxes.verbs.listPodSandbox({ filter: wanted }, signal)).items.map((item) => item.id);
  };
  assert.deepEqual(
    await Promise.all([
      list({}),
      list({ id: one }),
      list({ id: two.slice(0, 10) }),
      list({ id: 'none' }),
      list({ state: SANDBOX_READY }),
      list({ state: SANDBOX_NOTREADY }),
      list({ labels: { app: 'a' } }),
      list({ labels: { app: 'a', tier: 'x' } }),
      list({ id: two, labels: { tier: 'x' } }),
    ]),
    [[one, two], [one], [two], [], [one], [two], [one, two], [one], []],
  );
});
