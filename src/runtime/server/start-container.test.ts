import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ContainerState } from '../../cri/generated/runtime-v1.ts';
import {
  type ContainerWorld,
  createContainerWorld,
  createRequest,
  leftovers,
  sandboxRecord,
  signal,
  type WorldOptions,
} from '../container/fake/container-world.ts';

async function created(options: WorldOptions = {}): Promise<{ world: ContainerWorld; containerId: string }> {
  const world = await createContainerWorld(options);
  const { containerId } = await world.containers.verbs.createContainer(createRequest(), signal);
  return { world, containerId };
}

/** Each step that can fail, and the container's resulting status. */
const steps: Readonly<
  Record<string, { options?: WorldOptions; disturb?: (world: ContainerWorld) => void; message: RegExp }>
> = {
  'the sandbox': {
    disturb: ({ sandboxes }) =>
      sandboxes.set('pod1', { ...sandboxRecord('pod1'), state: { phase: 'notReady', networkDown: true } }),
    message: /sandbox pod1 is not ready/,
  },
  'a plugin': {
    options: { nri: { startContainer: () => Promise.reject(new Error('not on my machine')) } },
    message: /^cannot start container: not on my machine$/,
  },
  'the runtime': {
    disturb: ({ oci }) => {
      oci.onStart = () => ({ kind: 'failsToStart', message: 'exec: "/web": no such file' });
    },
    message: /^cannot start container: exec: "\/web": no such file$/,
  },
};

for (const [step, { options, disturb, message }] of Object.entries(steps)) {
  test(`startContainer() marks the container as exited when ${step} fails`, async () => {
    const { world, containerId } = await created(options);
    disturb?.(world);
    await assert.rejects(world.containers.verbs.startContainer({ containerId }, signal), { message });
    const { status } = await world.containers.verbs.containerStatus({ containerId, verbose: false }, signal);
    assert.deepEqual(
      [status?.state, status?.exitCode, status?.reason, status?.startedAt],
      [ContainerState.CONTAINER_EXITED, 128, 'StartError', 0n],
    );
    assert.match(status?.message ?? '', message);
    await world.containers.verbs.removeContainer({ containerId }, signal);
    assert.deepEqual(await leftovers(world), []);
  });
}

/** A started process cannot be recorded. */
function fillDiskAtStart({ oci, host }: ContainerWorld): void {
  const start = oci.start.bind(oci);
  oci.start = async (...args) => {
    const started = await start(...args);
    host.fs.isFull = true;
    return started;
  };
}

test('startContainer() removes a process that it cannot record', async () => {
  const { world, containerId } = await created();
  fillDiskAtStart(world);
  await assert.rejects(world.containers.verbs.startContainer({ containerId }, signal), /ENOSPC/);
  assert.deepEqual([...world.oci.containers], []);
  await world.containers.verbs.stopContainer({ containerId, timeout: 5n }, signal);
  const { status } = await world.containers.verbs.containerStatus({ containerId, verbose: false }, signal);
  assert.deepEqual([status?.state, status?.reason], [ContainerState.CONTAINER_EXITED, 'StartError']);
  await world.containers.verbs.removeContainer({ containerId }, signal);
  assert.deepEqual(await leftovers(world), []);
});

test('startContainer() reports the error, also when the process cannot be removed', async () => {
  const { world, containerId } = await created();
  fillDiskAtStart(world);
  world.oci.remove = () => Promise.reject(new Error('device or resource busy'));
  await assert.rejects(world.containers.verbs.startContainer({ containerId }, signal), {
    code: 'Unknown',
    message: /^cannot start container: .*ENOSPC.*; cannot remove its process: device or resource busy$/,
  });
});

test('startContainer() fails when it cannot record the start', async () => {
  const { world, containerId } = await created();
  world.host.fs.isFull = true;
  await assert.rejects(world.containers.verbs.startContainer({ containerId }, signal), {
    name: 'CriError',
    code: 'Unknown',
    message: /^cannot start container: .*ENOSPC/,
  });
  assert.deepEqual([...world.oci.containers], []);
});

test('startContainer() starts once', async () => {
  const { world, containerId } = await created();
  const { startContainer } = world.containers.verbs;
  const both = await Promise.allSettled([
    startContainer({ containerId }, signal),
    startContainer({ containerId }, signal),
  ]);
  assert.deepEqual(
    both.map(({ status }) => status),
    ['fulfilled', 'rejected'],
  );
  await assert.rejects(startContainer({ containerId: 'other' }, signal), { code: 'NotFound' });
});

test('startContainer() applies resources that a plugin changed during the start', async () => {
  const update = { resources: { devices: [], cpu: { shares: 77 } }, ignoreFailure: false };
  let world: ContainerWorld | undefined;
  const start = async (containerId: string) => world?.containers.nri.update({ ...update, containerId }, signal);
  const made = await created({ nri: { startContainer: (_pod, { id }) => start(id).then(() => {}) } });
  world = made.world;
  await world.containers.verbs.startContainer({ containerId: made.containerId }, signal);
  assert.deepEqual(world.oci.containers.get(made.containerId)?.resources?.cpu, { shares: 77 });
});
