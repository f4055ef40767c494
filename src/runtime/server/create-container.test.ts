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

/** What is refused before anything is made. */
const refusals: Readonly<
  Record<string, { config: Parameters<typeof createRequest>[0]; code: string; message: RegExp }>
> = {
  'without a name': { config: { metadata: { name: '' } }, code: 'InvalidArgument', message: /^config\.metadata\.name/ },
  'without an image': { config: { image: {} }, code: 'InvalidArgument', message: /^config\.image\.image/ },
  'of an image that is not here': {
    config: { image: { image: 'other' } },
    code: 'NotFound',
    message: /^config\.image\.image: image "other" not found/,
  },
  'with a volume of an image that is not here': {
    config: { mounts: [{ containerPath: '/v', readonly: true, image: { image: 'other' } }] },
    code: 'NotFound',
    message: /^ImageVolumeMountFailed: config\.mounts\[0\]\.image/,
  },
  'with a writable volume of an image': {
    config: { mounts: [{ containerPath: '/v', image: { image: 'web:1' } }] },
    code: 'InvalidArgument',
    message: /^ImageVolumeMountFailed: config\.mounts\[0\]\.readonly/,
  },
  'that looks into no container': {
    config: targets(''),
    code: 'InvalidArgument',
    message: /target_id: the mode TARGET needs a container/,
  },
  'that looks into a container which is not there': {
    config: targets('other'),
    code: 'NotFound',
    message: /target_id: container "other" not found/,
  },
};

for (const [name, { config, code, message }] of Object.entries(refusals)) {
  test(`createContainer() refuses a container ${name}`, async () => {
    const world = await createContainerWorld();
    await assert.rejects(create(world, config), { code, message });
    assert.deepEqual(await leftovers(world), []);
  });
}

test('createContainer() needs a sandbox that is ready', async () => {
  const world = await createContainerWorld();
  const request = { ...createRequest(), podSandboxId: 'other' };
  await assert.rejects(world.containers.verbs.createContainer(request, signal), { code: 'NotFound' });
  world.sandboxes.set('pod1', { ...sandboxRecord('pod1'), state: { phase: 'notReady', networkDown: true } });
  await assert.rejects(create(world), { code: 'FailedPrecondition' });
});

test('createContainer() gives a name once, and again after the removal', async () => {
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

test('a container looks into one of its own sandbox that runs', async () => {
  const seen: unknown[] = [];
  const world = await createContainerWorld({
    nri: {
      createContainer: async (_pod, { config }, spec) => {
        seen.push(config.linux?.securityContext?.namespaceOptions?.targetId);
        return { spec, updates: [] };
      },
    },
  });
  const target = await runContainer(world);
  const { containerId } = await create(world, { ...targets(target), metadata: { name: 'debug' } });
  assert.deepEqual(seen.at(-1), target);
  await world.containers.verbs.stopContainer({ containerId: target, timeout: 0n }, signal);
  await assert.rejects(world.containers.verbs.startContainer({ containerId }, signal), { code: 'FailedPrecondition' });
});

/** Each step that can fail; nothing of the container is left, and its name is free. */
const steps: Readonly<Record<string, { options?: WorldOptions; disturb?: (world: ContainerWorld) => void }>> = {
  'the first record': { disturb: ({ host }) => host.fs.faults.failNext('writeReplacing', 'EIO') },
  'the bundle': { disturb: ({ host }) => host.fs.faults.failNext('makeDirectory', 'EIO') },
  'the root file system': { disturb: ({ snapshots }) => snapshots.failNext.set('mount', 'no overlay') },
  'an image volume': { disturb: ({ snapshots }) => snapshots.failNext.set('mountImage', 'no overlay') },
  'a declared volume': { disturb: ({ host }) => host.mounts.faults.failNext('mount', 'EIO') },
  'the specification': {
    options: { buildSpec: () => Promise.reject(new CriError('InvalidArgument', 'linux.x: bad')) },
  },
  'a plugin': { options: { nri: { createContainer: () => Promise.reject(new Error('no')) } } },
  'config.json': { disturb: ({ host }) => host.fs.faults.failNext('writeFile', 'EIO') },
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
    assert.deepEqual(world.told, []);
    if (!options) await create(world, withVolume);
  });
}

test('createContainer() leaves nothing when its last record fails, and plugins hear of that', async () => {
  const heard: string[] = [];
  const world = await createContainerWorld({
    nri: {
      createContainer: async (_pod, _container, spec) => {
        world.host.fs.faults.failNext('writeReplacing', 'EIO');
        return { spec, updates: [] };
      },
      removeContainer: async (_pod, { id }) => void heard.push(id),
    },
  });
  await assert.rejects(create(world), /EIO/);
  assert.deepEqual([await leftovers(world), world.told, heard.length], [[], [], 1]);
});

test('createContainer() leaves nothing when the caller gives up', async () => {
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

test('createContainer() leaves a container to be removed when it cannot undo', async () => {
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

test('createContainer() stops when the sandbox was stopped meanwhile', async () => {
  const world = await createContainerWorld();
  const created = create(world);
  world.sandboxes.set('pod1', { ...sandboxRecord('pod1'), state: { phase: 'notReady', networkDown: false } });
  await assert.rejects(created, { code: 'FailedPrecondition' });
  assert.deepEqual(await leftovers(world), []);
});

test('createContainer() names what its specification cannot be as a part of the request', async () => {
  const { containers } = await createContainerWorld({
    buildSpec: () => Promise.reject(invalidField('mounts[0].host_path', 'is empty')),
  });
  await assert.rejects(containers.verbs.createContainer(createRequest(), signal), {
    name: 'CriError',
    code: 'InvalidArgument',
    message: 'config.mounts[0].host_path: is empty',
  });
});
