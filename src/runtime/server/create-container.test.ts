import assert from 'node:assert/strict';
import { test } from 'node:test';
import { CriError } from '../../cri/cri-error.ts';
import { invalidField } from '../../cri/field-error.ts';
import { ContainerState, NamespaceMode } from '../../cri/generated/runtime-v1.ts';
import {
  type ContainerWorld,
  createContainerWorld,
  createRequest,
  leftovers,
  runContainer,
  sandboxRecord,
  signal,
  type WorldOptions,
} from '../container/fake/container-world.ts';

function create({ containers }: ContainerWorld, config?: Parameters<typeof createRequest>[0], by = signal) {
  return containers.verbs.createContainer(createRequest(config), by);
}

const targets = (targetId: string) => ({
  linux: { securityContext: { namespaceOptions: { pid: NamespaceMode.TARGET, targetId } } },
});

/** Requests that are rejected before anything is created. */
const rejections: Readonly<
  Record<string, { config: Parameters<typeof createRequest>[0]; code: string; message: RegExp }>
> = {
  'without a name': { config: { metadata: { name: '' } }, code: 'InvalidArgument', message: /^config\.metadata\.name/ },
  'without an image': { config: { image: {} }, code: 'InvalidArgument', message: /^config\.image\.image/ },
  'of a missing image': {
    config: { image: { image: 'other' } },
    code: 'NotFound',
    message: /^config\.image\.image: image "other" not found/,
  },
  'with a volume of a missing image': {
    config: { mounts: [{ containerPath: '/v', readonly: true, image: { image: 'other' } }] },
    code: 'NotFound',
    message: /^ImageVolumeMountFailed: config\.mounts\[0\]\.image/,
  },
  'with a writable image volume': {
    config: { mounts: [{ containerPath: '/v', image: { image: 'web:1' } }] },
    code: 'InvalidArgument',
    message: /^ImageVolumeMountFailed: config\.mounts\[0\]\.readonly/,
  },
  'with mode TARGET and no target': {
    config: targets(''),
    code: 'InvalidArgument',
    message: /target_id: mode TARGET requires a container/,
  },
  'with an unknown target': {
    config: targets('other'),
    code: 'NotFound',
    message: /target_id: container "other" not found/,
  },
};

for (const [name, { config, code, message }] of Object.entries(rejections)) {
  test(`createContainer() rejects a container ${name}`, async () => {
    const world = await createContainerWorld();
    await assert.rejects(create(world, config), { code, message });
    assert.deepEqual(await leftovers(world), []);
  });
}

test('createContainer() requires a ready sandbox', async () => {
  const world = await createContainerWorld();
  const request = { ...createRequest(), podSandboxId: 'other' };
  await assert.rejects(world.containers.verbs.createContainer(request, signal), { code: 'NotFound' });
  world.sandboxes.set('pod1', { ...sandboxRecord('pod1'), state: { phase: 'notReady', networkDown: true } });
  await assert.rejects(create(world), { code: 'FailedPrecondition' });
});

test('createContainer() reserves a name until the container is removed', async () => {
  const world = await createContainerWorld();
  const { containerId } = await create(world);
  const message = `config.metadata: name "main_web_default_uid-pod1_0" is reserved for ${containerId}`;
  await assert.rejects(create(world), { code: 'AlreadyExists', message });
  await create(world, { metadata: { name: 'main', attempt: 1 } });
  await world.restart();
  await assert.rejects(create(world), { code: 'AlreadyExists', message });
  await world.containers.verbs.removeContainer({ containerId }, signal);
  await create(world);
});

test('a target must be a running container of the same sandbox', async () => {
  const requestedTargets: unknown[] = [];
  const world = await createContainerWorld({
    nri: {
      createContainer: async (_pod, { config }, spec) => {
        requestedTargets.push(config.linux?.securityContext?.namespaceOptions?.targetId);
        return { spec, updates: [] };
      },
    },
  });
  const target = await runContainer(world);
  const { containerId } = await create(world, { ...targets(target), metadata: { name: 'debug' } });
  assert.deepEqual(requestedTargets.at(-1), target);
  await world.containers.verbs.stopContainer({ containerId: target, timeout: 0n }, signal);
  await assert.rejects(world.containers.verbs.startContainer({ containerId }, signal), { code: 'FailedPrecondition' });
});

/** Each step that can fail. Afterwards nothing of the container is left, and its name is free. */
const steps: Readonly<Record<string, { options?: WorldOptions; disturb?: (world: ContainerWorld) => void }>> = {
  'the first record': { disturb: ({ host }) => host.fs.errors.failNext('writeReplacing', 'EIO') },
  'the bundle': { disturb: ({ host }) => host.fs.errors.failNext('makeDirectory', 'EIO') },
  'the root file system': { disturb: ({ snapshots }) => snapshots.failNext.set('mount', 'no overlay') },
  'an image volume': { disturb: ({ snapshots }) => snapshots.failNext.set('mountImage', 'no overlay') },
  'a declared volume': { disturb: ({ host }) => host.mounts.errors.failNext('mount', 'EIO') },
  'the specification': {
    options: { buildSpec: () => Promise.reject(new CriError('InvalidArgument', 'linux.x: bad')) },
  },
  'a plugin': { options: { nri: { createContainer: () => Promise.reject(new Error('no')) } } },
  'config.json': { disturb: ({ host }) => host.fs.errors.failNext('writeFile', 'EIO') },
};

const withVolume = {
  mounts: [{ containerPath: '/v', readonly: true, image: { image: createRequest().config?.image?.image ?? '' } }],
};

for (const [step, { options, disturb }] of Object.entries(steps)) {
  test(`createContainer() leaves nothing when ${step} fails`, async () => {
    const world = await createContainerWorld(options);
    disturb?.(world);
    await assert.rejects(create(world, withVolume), CriError);
    assert.deepEqual(await leftovers(world), []);
    assert.deepEqual(world.events, []);
    if (!options) await create(world, withVolume);
  });
}

test('createContainer() leaves nothing when its last record write fails, and notifies plugins', async () => {
  const notified: string[] = [];
  const world = await createContainerWorld({
    nri: {
      createContainer: async (_pod, _container, spec) => {
        world.host.fs.errors.failNext('writeReplacing', 'EIO');
        return { spec, updates: [] };
      },
      removeContainer: async (_pod, { id }) => void notified.push(id),
    },
  });
  await assert.rejects(create(world), /EIO/);
  assert.deepEqual([await leftovers(world), world.events, notified.length], [[], [], 1]);
});

test('createContainer() leaves nothing when the caller aborts', async () => {
  const caller = new AbortController();
  const world = await createContainerWorld({
    nri: {
      createContainer: async (_pod, _container, spec, by) => {
        caller.abort(new Error('gone'));
        by.throwIfAborted();
        return { spec, updates: [] };
      },
    },
  });
  await assert.rejects(create(world, {}, caller.signal), /gone/);
  assert.deepEqual(await leftovers(world), []);
});

test('createContainer() leaves an exited container that can be removed when the undo fails', async () => {
  const world = await createContainerWorld({ nri: { createContainer: () => Promise.reject(new Error('no')) } });
  world.snapshots.failNext.set('unmount', 'busy');
  await assert.rejects(create(world), {
    code: 'Unknown',
    message: /no; cleanup failed: busy/,
  });
  const { containers } = await world.containers.verbs.listContainers({ filter: undefined }, signal);
  assert.deepEqual(
    containers.map(({ state }) => state),
    [ContainerState.CONTAINER_EXITED],
  );
  await world.containers.verbs.removeContainer({ containerId: containers[0]?.id ?? '' }, signal);
  assert.deepEqual(await leftovers(world), []);
});

test('createContainer() fails when the sandbox was stopped in the meantime', async () => {
  const world = await createContainerWorld();
  const created = create(world);
  world.sandboxes.set('pod1', { ...sandboxRecord('pod1'), state: { phase: 'notReady', networkDown: false } });
  await assert.rejects(created, { code: 'FailedPrecondition' });
  assert.deepEqual(await leftovers(world), []);
});

test('createContainer() reports errors of the spec with the field path of the request', async () => {
  const { containers } = await createContainerWorld({
    buildSpec: () => Promise.reject(invalidField('mounts[0].host_path', 'is empty')),
  });
  await assert.rejects(containers.verbs.createContainer(createRequest(), signal), {
    name: 'CriError',
    code: 'InvalidArgument',
    message: 'config.mounts[0].host_path: is empty',
  });
});
