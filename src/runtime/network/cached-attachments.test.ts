import assert from 'node:assert/strict';
import { test } from 'node:test';
import { CACHE_DIR, CniWorld, CONF_DIR, type PluginAnswer } from './fake/cni-world.ts';

const signal = new AbortController().signal;
const pods = { cniVersion: '1.0.0', name: 'pods', plugins: [{ type: 'bridge', mtu: 1400 }] };
const failure = { exitCode: 1, stdout: '{"code":999,"msg":"busy"}' };

async function world(config: object = pods): Promise<CniWorld> {
  const made = new CniWorld();
  made.install('bridge');
  await made.write('10-pods.conflist', config);
  return made;
}

async function cachedFiles({ host }: CniWorld): Promise<string[]> {
  return (await host.fs.readDirectory(CACHE_DIR)).map(({ name }) => name);
}

test('DEL after a restart has the configuration and result of ADD, whatever is configured now', async () => {
  const made = await world();
  const pod = await made.pod();
  const { results } = await made.network().setUp(pod, signal);
  const added = made.calls.splice(0)[0];
  await made.host.fs.remove(`${CONF_DIR}/10-pods.conflist`);

  await made.network().tearDown(pod, signal);
  assert.deepEqual(made.calls, [
    { call: 'bridge DEL', env: added?.env, input: { ...added?.input, prevResult: results['pods/eth0'] } },
  ]);
  assert.deepEqual(await cachedFiles(made), []);
});

test('a process killed during ADD: the cache is written before the plugin runs', async () => {
  const made = await world();
  const never = Promise.withResolvers<PluginAnswer>();
  made.answers.set('bridge ADD', never.promise);
  const pod = await made.pod();
  const lost = new AbortController();
  const setUp = made.network().setUp(pod, lost.signal);
  while (made.calls.length === 0) await Promise.resolve();
  const kept = await made.host.fs.readText(`${CACHE_DIR}/s1.json`);
  lost.abort();
  const rejected = assert.rejects(setUp);
  await made.host.clock.advance(10_000);
  await rejected;
  // As the killed process left it.
  await made.host.fs.writeFile(`${CACHE_DIR}/s1.json`, kept);
  made.takeCalls();

  await made.network().tearDown(pod, signal);
  assert.deepEqual(
    made.calls.map(({ call, input }) => [call, 'prevResult' in input]),
    [['bridge DEL', false]],
  );
  assert.deepEqual(await cachedFiles(made), []);
});

test('an ADD that a killed process left running ends before DEL', async () => {
  const made = await world();
  const add = Promise.withResolvers<PluginAnswer>();
  made.answers.set('bridge ADD', add.promise);
  const pod = await made.pod();
  void made.network().setUp(pod, signal);
  while (made.takeCalls().length === 0) await Promise.resolve();

  const tornDown = made.network().tearDown(pod, signal);
  await made.host.clock.advance(5_000);
  assert.deepEqual(made.takeCalls(), []);
  add.resolve({});
  await tornDown;
  assert.deepEqual(made.takeCalls(), ['bridge DEL']);
});

test('an ADD that a killed process left hanging is killed before DEL', async () => {
  const made = await world();
  made.answers.set('bridge ADD', new Promise(() => {}));
  const pod = await made.pod();
  const lost = made.network().setUp(pod, signal);
  lost.catch(() => {});
  while (made.takeCalls().length === 0) await Promise.resolve();

  const tornDown = made.network().tearDown(pod, signal);
  await made.host.clock.advance(10_000);
  await tornDown;
  assert.deepEqual(made.takeCalls(), ['bridge DEL']);
  assert.deepEqual(await made.host.processes.find(() => true), []);
});

test('the cache entry is removed only after DEL succeeded', async () => {
  const made = await world();
  const network = made.network();
  const pod = await made.pod();
  await network.setUp(pod, signal);
  made.answers.set('bridge DEL', failure);
  const message = 'plugin type="bridge" name="pods" failed (delete): busy';
  await assert.rejects(network.tearDown(pod, signal), { message });
  assert.deepEqual(await cachedFiles(made), ['s1.json']);
  made.answers.delete('bridge DEL');
  await network.tearDown(pod, signal);
  assert.deepEqual(await cachedFiles(made), []);
});

const gone: Record<string, { msg: string; unpinned: boolean; isFine: boolean }> = {
  'an object that is not found': { msg: 'container not found', unpinned: false, isFine: true },
  'a missing file without a namespace': { msg: 'no such file or directory', unpinned: true, isFine: true },
  'a missing file with a namespace': { msg: 'no such file or directory', unpinned: false, isFine: false },
  'a missing program': { msg: 'exec: "iptables": executable file not found', unpinned: false, isFine: false },
};
for (const [name, { msg, unpinned, isFine }] of Object.entries(gone)) {
  test(`DEL that fails on ${name} is ${isFine ? 'a success' : 'an error'}`, async () => {
    const made = await world();
    const network = made.network();
    const pod = await made.pod();
    await network.setUp(pod, signal);
    if (unpinned) await made.host.mounts.unmount(pod.namespacePath);
    made.answers.set('bridge DEL', { exitCode: 1, stdout: JSON.stringify({ code: 999, msg }) });
    await network.tearDown(pod, signal).catch((error: unknown) => assert.ok(!isFine, String(error)));
    assert.deepEqual(await cachedFiles(made), isFine ? [] : ['s1.json']);
  });
}

const namespaces: Record<string, { lose: (world: CniWorld, path: string) => Promise<void>; expected: string }> = {
  'is passed while it is pinned': { lose: async () => {}, expected: '/run/netns/s1' },
  'is not passed if only its file is left': { lose: ({ host }, path) => host.mounts.unmount(path), expected: '' },
  'is not passed if nothing is left': {
    lose: async ({ host }, path) => {
      await host.mounts.unmount(path);
      await host.fs.removeTree('/run/netns');
    },
    expected: '',
  },
};
for (const [name, { lose, expected }] of Object.entries(namespaces)) {
  test(`DEL: a namespace ${name}`, async () => {
    const made = await world();
    const network = made.network();
    const pod = await made.pod();
    await network.setUp(pod, signal);
    await lose(made, pod.namespacePath);
    await network.tearDown(pod, signal);
    assert.equal(made.calls[1]?.env['CNI_NETNS'], expected);
  });
}

test('damaged cache: DEL on the current networks', async () => {
  const made = await world();
  const pod = await made.pod();
  await made.network().setUp(pod, signal);
  await made.host.fs.writeFile(`${CACHE_DIR}/s1.json`, '{"pod":');
  made.takeCalls();
  await made.network().tearDown(pod, signal);
  assert.deepEqual(
    made.calls.map(({ call, env }) => [call, env['CNI_CONTAINERID'], env['CNI_IFNAME'], env['CNI_NETNS']]),
    [['bridge DEL', 's1', 'eth0', '/run/netns/s1']],
  );
  assert.deepEqual(await cachedFiles(made), []);
});

test('tearDown() of a pod that was never set up runs nothing', async () => {
  const made = await world();
  await made.network().tearDown(await made.pod(), signal);
  assert.deepEqual(made.takeCalls(), []);
});

test('collectGarbage() after a restart: DEL for sandboxes that are not live, an error does not stop the others', async () => {
  const made = await world();
  const before = made.network();
  for (const sandboxId of ['s1', 's2', 's3']) await before.setUp(await made.pod({ sandboxId }), signal);
  await made.host.fs.writeFile(`${CACHE_DIR}/s3.json`, 'lost');
  made.takeCalls();
  const after = made.network();
  const ours = await made.pod({ sandboxId: 's4' });
  await after.setUp(ours, signal);
  made.calls.splice(0);
  await after.collectGarbage(new Set(['s2']), signal);
  assert.deepEqual(
    made.calls.splice(0).map(({ call, env }) => [call, env['CNI_CONTAINERID']]),
    [
      ['bridge DEL', 's1'],
      ['bridge DEL', 's3'],
    ],
  );
  assert.deepEqual(await cachedFiles(made), ['s2.json', 's4.json']);

  made.answers.set('bridge DEL', failure);
  await assert.rejects(after.collectGarbage(new Set(), signal), (error) => {
    assert.ok(error instanceof AggregateError);
    assert.deepEqual(
      error.errors.map((one) => one.message),
      ['plugin type="bridge" name="pods" failed (delete): busy'],
    );
    return true;
  });
  assert.deepEqual(await cachedFiles(made), ['s2.json', 's4.json']);
});

test('collectGarbage() removes interrupted writes of previous processes, never its own', async () => {
  const made = await world();
  await made.network().setUp(await made.pod({ sandboxId: 's1' }), signal);
  const network = made.network();
  await network.setUp(await made.pod({ sandboxId: 's2' }), signal);
  for (const id of ['s0', 's1', 's2']) await made.host.fs.writeFile(`${CACHE_DIR}/.${id}.json.tmp`, '{');
  await network.collectGarbage(new Set(['s1', 's2']), signal);
  assert.deepEqual(await cachedFiles(made), ['.s2.json.tmp', 's1.json', 's2.json']);
});

const collectors: Record<string, { given: object; calls: string[] }> = {
  'of version 1.1 gets GC': { given: { cniVersion: '1.1.0' }, calls: ['bridge GC'] },
  'before 1.1 gets none': { given: { cniVersion: '1.0.0' }, calls: [] },
  'with disableGC gets none': { given: { cniVersion: '1.1.0', disableGC: true }, calls: [] },
};
for (const [name, { given, calls }] of Object.entries(collectors)) {
  test(`collectGarbage(): a network ${name}`, async () => {
    const made = await world({ ...pods, ...given });
    const network = made.network();
    await network.setUp(await made.pod(), signal);
    made.takeCalls();
    await network.collectGarbage(new Set(['s1']), signal);
    assert.deepEqual(made.takeCalls(), calls);
  });
}

test('collectGarbage(): GC gets the valid attachments, and no ADD runs meanwhile', async () => {
  const made = await world({ ...pods, cniVersion: '1.1.0' });
  const network = made.network();
  await network.setUp(await made.pod(), signal);
  const later = await made.pod({ sandboxId: 's2' });
  made.calls.splice(0);
  const gc = Promise.withResolvers<PluginAnswer>();
  made.answers.set('bridge GC', gc.promise);
  const collect = network.collectGarbage(new Set(['s1']), signal);
  while (made.calls.length === 0) await Promise.resolve();
  const setUp = network.setUp(later, signal);
  await made.host.clock.advance(1);
  const valid = [{ containerID: 's1', ifname: 'eth0' }];
  assert.deepEqual(made.calls.splice(0), [
    {
      call: 'bridge GC',
      input: {
        ...{ type: 'bridge', mtu: 1400, name: 'pods', cniVersion: '1.1.0' },
        ...{ 'cni.dev/valid-attachments': valid, 'cni.dev/attachments': valid },
      },
      env: {
        ...{ CNI_CONTAINERID: '', CNI_NETNS: '', CNI_IFNAME: '', CNI_ARGS: '' },
        ...{ PATH: '/sbin', CNI_PATH: '/opt/cni/bin:/usr/lib/cni' },
      },
    },
  ]);
  gc.resolve({});
  await Promise.all([collect, setUp]);
  assert.deepEqual(made.takeCalls(), ['bridge ADD']);
});

test('collectGarbage(): a GC that hangs blocks pods for a minute at most', async () => {
  const made = await world({ ...pods, cniVersion: '1.1.0' });
  const network = made.network();
  made.answers.set('bridge GC', new Promise(() => {}));
  const collected = network.collectGarbage(new Set(), signal).catch((error: unknown) => error);
  await made.host.clock.advance(0);
  const setUp = network.setUp(await made.pod(), signal).then(() => 'set up');
  await made.host.clock.advance(59_000);
  assert.equal(await Promise.race([setUp, Promise.resolve('waits')]), 'waits');
  await made.host.clock.advance(2000);
  assert.equal(await Promise.race([setUp, made.host.clock.advance(0).then(() => 'waits')]), 'set up');
  assert.ok((await collected) instanceof AggregateError);
});
