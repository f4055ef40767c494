import assert from 'node:assert/strict';
import { test } from 'node:test';
import { hasCode } from '../../cri/cri-error.ts';
import { ContainerEventType, NamespaceMode, PodSandboxState } from '../../cri/generated/runtime-v1.ts';
import { noNri } from '../nri/nri.ts';
import {
  createSandboxWorld,
  type NAMESPACES,
  podConfig,
  podWith,
  type SandboxWorld,
  signal,
} from '../sandbox/fake/sandbox-world.ts';

const run = (world: SandboxWorld, config = podConfig(), runtimeHandler = '', limit = signal): Promise<string> =>
  world.sandboxes.verbs.runPodSandbox({ config, runtimeHandler }, limit).then(({ podSandboxId }) => podSandboxId);

const list = async (world: SandboxWorld) =>
  (await world.sandboxes.verbs.listPodSandbox({ filter: undefined }, signal)).items.map(({ id, state }) => ({
    id,
    ready: state === PodSandboxState.SANDBOX_READY,
  }));

async function stopAndRemove(world: SandboxWorld, podSandboxId: string): Promise<void> {
  await world.sandboxes.verbs.stopPodSandbox({ podSandboxId }, signal);
  await world.sandboxes.verbs.removePodSandbox({ podSandboxId }, signal);
}

const shapes: Record<
  keyof typeof NAMESPACES,
  { held: Record<string, 'ours' | 'process'>; address: boolean; process: boolean; mounts: string[] }
> = {
  usual: { held: { net: 'ours', uts: 'ours', ipc: 'ours' }, address: true, process: false, mounts: ['shm'] },
  sharedProcesses: {
    held: { net: 'ours', uts: 'ours', ipc: 'ours', pid: 'process' },
    address: true,
    process: true,
    mounts: ['shm'],
  },
  ownUsers: {
    held: { net: 'process', uts: 'process', ipc: 'process', user: 'process' },
    address: true,
    process: true,
    mounts: ['shm'],
  },
  node: { held: {}, address: false, process: false, mounts: [] },
};

for (const [name, expected] of Object.entries(shapes) as [keyof typeof NAMESPACES, (typeof shapes)['usual']][]) {
  test(`RunPodSandbox creates the resources of a pod with ${name} namespaces, and Stop and Remove release them`, async () => {
    const world = await createSandboxWorld();
    const id = await run(world, podWith(name));
    assert.match(id, /^[0-9a-f]{64}$/);
    const folder = world.paths.sandbox(id);
    const held = [...(await world.host.namespaces.pinned())].map(([file, { pid }]) => [
      file.slice(`${folder}/ns/`.length),
      pid === undefined ? 'ours' : 'process',
    ]);
    const mounts = (await world.host.mounts.list()).filter(({ type }) => type === 'tmpfs');
    assert.deepEqual(
      {
        held: Object.fromEntries(held),
        address: world.network.held.has(id),
        process: world.oci.containers.has(id),
        mounts: mounts.map(({ target }) => target.slice(folder.length + 1)),
      },
      expected,
    );
    assert.deepEqual(await list(world), [{ id, ready: true }]);
    await stopAndRemove(world, id);
    assert.deepEqual(await world.leftovers(), []);
  });
}

test('RunPodSandbox makes the root of the user namespace own the files of the pod', async () => {
  const world = await createSandboxWorld();
  const config = podWith('ownUsers');
  const hostId = config.linux?.securityContext?.namespaceOptions?.usernsOptions?.uids[0]?.hostId ?? 0;
  const folder = world.paths.sandboxFiles(await run(world, config));
  for (const name of ['hosts', 'hostname', 'resolv.conf']) {
    const { uid, gid } = (await world.host.fs.stat(`${folder}/${name}`)) ?? {};
    assert.deepEqual([name, uid, gid], [name, hostId, hostId]);
  }
});

test('files that containers may write to are not on the state tmpfs', async () => {
  const world = await createSandboxWorld();
  const { hosts, hostname, resolvConf, shm } = world.sandboxes.view.filesOf(await run(world));
  assert.ok([hosts, hostname, resolvConf].every((path) => path.startsWith('/lib/')));
  assert.match(shm, /^\/run\//);
});

test('the files of a sandbox of an older version are found at their old path', async () => {
  const world = await createSandboxWorld();
  const id = await run(world);
  const path = `${world.paths.sandboxRecords}/${id}.json`;
  const { filesOnDisk: _, ...older } = JSON.parse(await world.host.fs.readText(path));
  await world.host.fs.writeFile(path, JSON.stringify(older));
  await world.restart();
  assert.equal(world.sandboxes.view.filesOf(id).resolvConf, `${world.paths.sandbox(id)}/resolv.conf`);
  await stopAndRemove(world, id);
  assert.deepEqual(await world.leftovers(), []);
});

test('RunPodSandbox writes the files of the pod, and sets its name and its sysctls', async () => {
  const world = await createSandboxWorld();
  const { namespaceOptions } = podConfig().linux?.securityContext ?? {};
  const linux = {
    sysctls: { 'net.ipv4.ip_forward': '1', 'kernel/sem': '1 2 3 4' },
    securityContext: { namespaceOptions },
  };
  const id = await run(world, podConfig({ linux }));
  const { hosts, hostname, resolvConf, shm } = world.sandboxes.view.filesOf(id);
  assert.deepEqual(await Promise.all([hosts, hostname, resolvConf].map((path) => world.host.fs.readText(path))), [
    '127.0.0.1 localhost\n',
    'web\n',
    'search a.example b.example\nnameserver 10.0.0.10\noptions ndots:5\n',
  ]);
  assert.equal((await world.host.fs.stat(shm))?.mode, 0o1777);
  const held = (await world.host.namespaces.pinned()).get(`${world.paths.sandbox(id)}/ns/net`);
  assert.deepEqual(held, { hostname: 'web', sysctls: { 'net/ipv4/ip_forward': '1', 'kernel/sem': '1 2 3 4' } });
});

test('RunPodSandbox copies the files of the host if the pod has none', async () => {
  const world = await createSandboxWorld();
  await world.host.fs.writeFile('/etc/resolv.conf', 'nameserver 1.1.1.1\n');
  await world.host.fs.makeDirectory('/proc/sys/kernel');
  await world.host.fs.writeFile('/proc/sys/kernel/hostname', 'node-1\n');
  const id = await run(world, { ...podWith('node'), hostname: '', dnsConfig: undefined });
  const { hostname, resolvConf, shm } = world.sandboxes.view.filesOf(id);
  const { fs } = world.host;
  assert.deepEqual(
    [await fs.readText(hostname), await fs.readText(resolvConf), shm],
    ['node-1\n', 'nameserver 1.1.1.1\n', '/dev/shm'],
  );
});

test('RunPodSandbox publishes CREATED and STARTED with the id of the sandbox after the record is ready', async () => {
  const world = await createSandboxWorld();
  const id = await run(world);
  const { CONTAINER_CREATED_EVENT, CONTAINER_STARTED_EVENT } = ContainerEventType;
  assert.deepEqual(world.events, [
    { type: CONTAINER_CREATED_EVENT, sandboxId: id, containerId: id },
    { type: CONTAINER_STARTED_EVENT, sandboxId: id, containerId: id },
  ]);
});

const refused: Record<string, { config?: ReturnType<typeof podConfig>; handler?: string; message: RegExp }> = {
  'no metadata': { config: podConfig({ metadata: undefined }), message: /^config\.metadata: / },
  'an unknown handler': { handler: 'kata', message: /^runtime_handler: no runtime for "kata" is configured$/ },
  'a user namespace that the handler does not support': {
    config: podWith('ownUsers'),
    handler: 'plain',
    message: /^config\.linux\.security_context\.namespace_options\.userns_options: /,
  },
  'an unknown network mode': {
    config: podConfig({ linux: { securityContext: { namespaceOptions: { network: NamespaceMode.TARGET } } } }),
    message: /^config\.linux\.security_context\.namespace_options\.network: /,
  },
  "a sysctl of the machine's": {
    config: podConfig({ linux: { sysctls: { 'vm.swappiness': '1' } } }),
    message: /^config\.linux\.sysctls\["vm\.swappiness"\]: /,
  },
  'a host name that is too long': {
    config: podConfig({ hostname: 'x'.repeat(65) }),
    message: /^config\.hostname: /,
  },
};
for (const [what, { config, handler, message }] of Object.entries(refused)) {
  test(`RunPodSandbox rejects ${what} with the name of the field, before anything is created`, async () => {
    const world = await createSandboxWorld();
    await assert.rejects(run(world, config, handler), { name: 'CriError', code: 'InvalidArgument', message });
    assert.deepEqual(await world.leftovers(), []);
    await run(world);
  });
}

test('RunPodSandbox gives a name to one of two concurrent requests', async () => {
  const world = await createSandboxWorld();
  const [first, second] = await Promise.allSettled([run(world), run(world)]);
  assert.ok(first.status === 'fulfilled' && second.status === 'rejected');
  assert.ok(hasCode(second.reason, 'AlreadyExists'));
  const name = 'web_default_u1_0';
  assert.equal(
    second.reason.message,
    `failed to reserve sandbox name "${name}": name "${name}" is reserved for "${first.value}"`,
  );
  await stopAndRemove(world, first.value);
  await run(world);
});

type Disturb = (world: SandboxWorld) => void;
const failing = async (): Promise<never> => {
  throw new Error('no');
};
/** Each step that can fail; `pod` is a pod that has this step. */
const steps: Record<string, { pod?: keyof typeof NAMESPACES; disturb: Disturb; code?: string }> = {
  'the first record': { disturb: ({ host }) => host.fs.errors.failNext('writeReplacing', 'ENOSPC') },
  'the directory': { disturb: ({ host }) => host.fs.errors.failNext('makeDirectory', 'ENOSPC') },
  'a file': { disturb: ({ host }) => host.fs.errors.failNext('writeFile', 'ENOSPC') },
  'the mount of shm': { disturb: ({ host }) => host.mounts.errors.failNext('mount', 'EPERM') },
  'the namespaces': { disturb: ({ host }) => host.namespaces.errors.failNext('create', 'ENOSPC') },
  'the network': { disturb: ({ network }) => network.failNext('setUp') },
  'the network of a pod with a user namespace': {
    pod: 'ownUsers',
    disturb: ({ network }) => network.failNext('setUp'),
  },
  'the start of the process': {
    pod: 'sharedProcesses',
    disturb: ({ oci }) => {
      oci.onStart = () => ({ kind: 'failsToStart', message: 'no' });
    },
  },
  'the namespaces of the process': {
    pod: 'ownUsers',
    disturb: ({ host }) => host.namespaces.errors.failNext('pin', 'EPERM'),
  },
  'a plugin': {
    disturb: (world) => {
      world.nri = { ...noNri, runPodSandbox: failing };
    },
  },
  'the last record': {
    pod: 'sharedProcesses',
    disturb: (world) => {
      world.nri = { ...noNri, runPodSandbox: async () => world.host.fs.errors.failNext('writeReplacing', 'EIO') };
    },
  },
};
for (const [step, { pod = 'usual', disturb }] of Object.entries(steps)) {
  test(`RunPodSandbox leaves nothing when ${step} fails, and can be called again`, async () => {
    const world = await createSandboxWorld();
    disturb(world);
    await assert.rejects(run(world, podWith(pod)), { name: 'CriError', code: 'Unknown' });
    assert.deepEqual([await world.leftovers(), await list(world), world.events], [[], [], []]);
    world.nri = noNri;
    world.oci.onStart = () => ({ kind: 'runs' });
    await run(world, podWith(pod));
  });
}

test('RunPodSandbox names the sysctl that the kernel rejects', async () => {
  const world = await createSandboxWorld();
  world.host.namespaces.errors.failNext('sysctl', 'EINVAL', 'net/none');
  const failed = run(world, podConfig({ linux: { sysctls: { 'net.none': 'x' } } }));
  await assert.rejects(failed, {
    code: 'InvalidArgument',
    message: /^config\.linux\.sysctls\["net\.none"\]: .*EINVAL/,
  });
  assert.deepEqual(await world.leftovers(), []);
});

/** Steps during which the caller aborts. */
const moments: Record<string, (world: SandboxWorld, abort: () => void) => void> = {
  'the network is set up': (world, abort) => {
    const setUp = world.network.setUp.bind(world.network);
    world.network.setUp = async (pod, limit) => {
      await setUp(pod, limit);
      abort();
      throw limit.reason;
    };
  },
  'the process starts': ({ oci }, abort) => {
    oci.onStart = () => {
      abort();
      return { kind: 'runs' };
    };
  },
  'plugins are called': (world, abort) => {
    world.nri = { ...noNri, runPodSandbox: async () => abort() };
  },
};
for (const [moment, arrange] of Object.entries(moments)) {
  test(`RunPodSandbox undoes everything when its caller aborts while ${moment}`, async () => {
    const world = await createSandboxWorld();
    const caller = new AbortController();
    const reason = new Error('gave up');
    arrange(world, () => caller.abort(reason));
    await assert.rejects(run(world, podWith('sharedProcesses'), '', caller.signal), reason);
    assert.deepEqual([await world.leftovers(), await list(world)], [[], []]);
  });
}

/** The network setup fails, and this cannot be released. */
const undoFaults: Record<string, Disturb> = {
  'the network': ({ network }) => network.failNext('tearDown'),
  'a namespace': ({ host }) => host.namespaces.errors.failNext('remove', 'EIO'),
  'the mount of shm': ({ host }) => host.mounts.errors.failNext('unmount', 'EIO', undefined),
  'a directory': ({ host }) => host.fs.errors.failNext('removeTree', 'EIO'),
  'the record': (world) => {
    const setUp = world.network.tearDown.bind(world.network);
    world.network.tearDown = async (pod, limit) => {
      await setUp(pod, limit);
      world.network.tearDown = setUp;
      world.host.fs.errors.failNext('remove', 'EIO', `${world.paths.sandboxRecords}/${pod.sandboxId}.json`);
    };
  },
};
for (const [what, disturb] of Object.entries(undoFaults)) {
  test(`RunPodSandbox lists a sandbox as not ready when ${what} cannot be released: Stop and Remove finish it`, async () => {
    const world = await createSandboxWorld();
    world.network.failNext('setUp');
    disturb(world);
    await assert.rejects(run(world), { name: 'CriError', code: 'Unknown' });
    const [shown, ...others] = await list(world);
    assert.ok(shown);
    assert.deepEqual([shown.ready, others], [false, []]);
    assert.equal(world.sandboxes.view.find(shown.id)?.state.phase, 'unknown');
    await assert.rejects(run(world), { code: 'AlreadyExists' });
    await stopAndRemove(world, shown.id);
    assert.deepEqual(await world.leftovers(), []);
    await run(world);
  });

  test(`RunPodSandbox retries the cleanup of a sandbox when ${what} could not be released`, async () => {
    const world = await createSandboxWorld();
    world.network.failNext('setUp');
    disturb(world);
    await assert.rejects(run(world));
    await world.host.clock.advance(10_000);
    const [record] = world.sandboxes.view.all.values();
    assert.deepEqual(record?.state, { phase: 'notReady', networkDown: true, stopAsked: true });
    assert.equal(world.network.held.size, 0);
  });
}

test('RunPodSandbox retries the cleanup of a sandbox that it could neither undo nor record', async () => {
  const world = await createSandboxWorld();
  world.network.failNext('setUp');
  world.network.failNext('tearDown');
  const tearDown = world.network.tearDown.bind(world.network);
  world.network.tearDown = (pod, limit) => {
    world.network.tearDown = tearDown;
    world.host.fs.errors.failNext('writeReplacing', 'EIO');
    return tearDown(pod, limit);
  };
  await assert.rejects(run(world));
  assert.deepEqual(await list(world), []);
  await world.host.clock.advance(10_000);
  assert.deepEqual(await world.leftovers(), []);
  await run(world);
});

test('RunPodSandbox releases the name of a sandbox that it could not record', async () => {
  const world = await createSandboxWorld();
  world.host.fs.errors.failNext('writeReplacing', 'ENOSPC');
  world.host.fs.errors.failNext('removeTree', 'EIO');
  world.host.fs.errors.failNext('writeReplacing', 'ENOSPC');
  await assert.rejects(run(world), { name: 'CriError', code: 'Unknown' });
  assert.deepEqual(await list(world), []);
  await run(world);
});
