import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Protocol } from '../../cri/generated/runtime-v1.ts';
import { CniWorld, type PluginAnswer } from './fake/cni-world.ts';

const signal = new AbortController().signal;

const bridge = { type: 'bridge', mtu: 1400 };
const portmap = { type: 'portmap', capabilities: { portMappings: true } };
const tuning = { type: 'tuning' };
const chain = (name: string, plugins: readonly object[] = [bridge], given: object = {}) => ({
  cniVersion: '1.0.0',
  name,
  plugins,
  ...given,
});
const hostPort = { protocol: Protocol.TCP, containerPort: 80, hostPort: 8080, hostIp: '' };

async function world(config: unknown = chain('pods'), ...types: string[]): Promise<CniWorld> {
  const made = new CniWorld();
  for (const type of ['bridge', 'portmap', 'tuning', ...types]) made.install(type);
  await made.write('10-pods.conflist', config);
  return made;
}

test('setUp() passes all data of the pod to a plugin, and returns its addresses', async () => {
  const made = await world();
  const addresses = await made.network().setUp(await made.pod(), signal);
  const result = {
    interfaces: [{ name: 'eth0', sandbox: '/ns' }],
    ips: [{ address: '10.0.0.2/24', interface: 0 }],
    cniVersion: '1.0.0',
  };
  assert.deepEqual(addresses, { ips: ['10.0.0.2'], results: { 'pods/eth0': result } });
  assert.deepEqual(made.calls, [
    {
      call: 'bridge ADD',
      input: { type: 'bridge', mtu: 1400, name: 'pods', cniVersion: '1.0.0' },
      env: {
        PATH: '/sbin',
        CNI_CONTAINERID: 's1',
        CNI_NETNS: '/run/netns/s1',
        CNI_IFNAME: 'eth0',
        CNI_PATH: '/opt/cni/bin:/usr/lib/cni',
        CNI_ARGS:
          'IgnoreUnknown=1;K8S_POD_NAMESPACE=default;K8S_POD_NAME=web;K8S_POD_INFRA_CONTAINER_ID=s1;K8S_POD_UID=u1',
      },
    },
  ]);
});

test('setUp() and tearDown(): the result is passed along the chain, and to DEL', async () => {
  const made = await world(chain('pods', [bridge, tuning, portmap]));
  const network = made.network();
  const pod = await made.pod({ portMappings: [hostPort] });
  const { results } = await network.setUp(pod, signal);
  const result = results['pods/eth0'];
  const portMappings = [{ hostPort: 8080, containerPort: 80, protocol: 'tcp' }];
  const named = { name: 'pods', cniVersion: '1.0.0' };
  assert.deepEqual(
    made.calls.splice(0).map(({ call, input }) => ({ call, input })),
    [
      { call: 'bridge ADD', input: { ...bridge, ...named } },
      { call: 'tuning ADD', input: { ...tuning, ...named, prevResult: result } },
      { call: 'portmap ADD', input: { ...portmap, ...named, prevResult: result, runtimeConfig: { portMappings } } },
    ],
  );
  await network.tearDown(pod, signal);
  assert.deepEqual(
    made.calls.splice(0).map(({ call, input }) => ({ call, input })),
    [
      { call: 'portmap DEL', input: { ...portmap, ...named, prevResult: result, runtimeConfig: { portMappings } } },
      { call: 'tuning DEL', input: { ...tuning, ...named, prevResult: result } },
      { call: 'bridge DEL', input: { ...bridge, ...named, prevResult: result } },
    ],
  );
  await network.tearDown(pod, signal);
  assert.deepEqual(made.takeCalls(), []);
});

const idle: Record<string, { plugins: object[]; calls: string[] }> = {
  'is skipped without host ports': { plugins: [bridge, portmap], calls: ['bridge ADD', 'bridge DEL'] },
  'runs when it does not declare the capability': {
    plugins: [bridge, { type: 'portmap' }],
    calls: ['bridge ADD', 'portmap ADD', 'portmap DEL', 'bridge DEL'],
  },
  'runs when it is the first': { plugins: [portmap], calls: ['portmap ADD', 'portmap DEL'] },
};
for (const [name, { plugins, calls }] of Object.entries(idle)) {
  test(`portmap ${name}`, async () => {
    const made = await world(chain('pods', plugins));
    const network = made.network();
    const pod = await made.pod();
    await network.setUp(pod, signal);
    await network.tearDown(pod, signal);
    assert.deepEqual(made.takeCalls(), calls);
  });
}

const failures: Record<string, { answer: PluginAnswer; message: string; code?: number }> = {
  'its own error': {
    answer: { exitCode: 1, stdout: '{"code":11,"msg":"no addresses left","details":"range 0"}' },
    message: 'no addresses left; range 0',
    code: 11,
  },
  'no error object': {
    answer: { exitCode: 2, stdout: 'panic', stderr: 'stack\n' },
    message: 'netplugin failed: "panic\\nstack"',
  },
  'nothing at all': {
    answer: { exitCode: 3, stdout: '' },
    message: 'netplugin failed with no error message: exit status 3',
  },
  'an invalid result': { answer: { stdout: '[]' }, message: 'result is not a JSON object: "[]"' },
};
for (const [name, { answer, message, code }] of Object.entries(failures)) {
  test(`setUp() names the network and plugin of an error: ${name}`, async () => {
    const made = await world();
    made.answers.set('bridge ADD', answer);
    await assert.rejects(made.network().setUp(await made.pod(), signal), {
      name: 'PluginError',
      message: `plugin type="bridge" name="pods" failed (add): ${message}`,
      code,
    });
  });
}

test('a plugin is searched in all directories, and named if it is missing', async () => {
  const made = await world(chain('pods', [{ type: 'late' }]));
  const network = made.network();
  await assert.rejects(network.setUp(await made.pod(), signal), {
    message:
      'plugin type="late" name="pods" failed (add): failed to find plugin "late" in path [/opt/cni/bin /usr/lib/cni]',
  });
  made.install('late', '/usr/lib/cni');
  await network.setUp(await made.pod({ sandboxId: 's2' }), signal);
  assert.deepEqual(made.takeCalls(), ['late ADD']);
});

test('a plugin whose file is busy is retried', async () => {
  const made = await world();
  made.host.processes.errors.failNext('run', 'ETXTBSY', '/opt/cni/bin/bridge');
  const setUp = made.network().setUp(await made.pod(), signal);
  await made.host.clock.advance(1_000);
  assert.deepEqual((await setUp).ips, ['10.0.0.2']);
});

test('a plugin that hangs is killed some time after the abort, and DEL removes what it left', async () => {
  const made = await world(chain('pods', [bridge, tuning]));
  const hung = Promise.withResolvers<PluginAnswer>();
  made.answers.set('tuning ADD', hung.promise);
  const network = made.network();
  const pod = await made.pod();
  const impatient = new AbortController();
  const setUp = network.setUp(pod, impatient.signal);
  while (made.calls.length < 2) await Promise.resolve();
  impatient.abort(new Error('time is up'));
  const rejected = assert.rejects(setUp, {
    message: 'plugin type="tuning" name="pods" failed (add): aborted: time is up',
  });
  await made.host.clock.advance(10_000);
  await rejected;
  await network.tearDown(pod, signal);
  assert.deepEqual(made.takeCalls(), ['bridge ADD', 'tuning ADD', 'tuning DEL', 'bridge DEL']);
});

test('a plugin may finish after its caller was aborted, and still counts as aborted', async () => {
  const made = await world(chain('pods', [bridge]));
  const slow = Promise.withResolvers<PluginAnswer>();
  made.answers.set('bridge ADD', slow.promise);
  const pod = await made.pod();
  const impatient = new AbortController();
  const setUp = made.network().setUp(pod, impatient.signal);
  while (made.calls.length === 0) await Promise.resolve();
  impatient.abort(new Error('time is up'));
  const rejected = assert.rejects(setUp, /time is up/);
  slow.resolve({});
  await rejected;
});

for (const setUpSerially of [true, false]) {
  test(`several networks ${setUpSerially ? 'serially' : 'in parallel'} get an interface each`, async () => {
    const made = await world(chain('first'));
    await made.write('20-second.conf', { cniVersion: '0.3.1', name: 'second', type: 'macvlan' });
    made.install('macvlan');
    const network = made.network({ maxConfigs: 0, setUpSerially });
    const pod = await made.pod();
    const { ips, results } = await network.setUp(pod, signal);
    assert.deepEqual([ips, Object.keys(results)], [['10.0.0.2'], ['first/eth0', 'second/eth1']]);
    assert.deepEqual(
      made.calls.splice(0).map(({ call, env }) => [call, env['CNI_IFNAME']]),
      [
        ['bridge ADD', 'eth0'],
        ['macvlan ADD', 'eth1'],
      ],
    );
    await network.tearDown(pod, signal);
    // Before 0.4.0, DEL gets no result.
    assert.deepEqual(
      made.calls.splice(0).map(({ call, env, input }) => [call, env['CNI_IFNAME'], 'prevResult' in input]),
      [
        ['macvlan DEL', 'eth1', false],
        ['bridge DEL', 'eth0', true],
      ],
    );
  });

  test(`a network that fails, ${setUpSerially ? 'serially' : 'in parallel'}: DEL on all`, async () => {
    const made = await world(chain('first'));
    await made.write('20-second.conflist', chain('second', [tuning]));
    made.answers.set('bridge ADD', { exitCode: 1, stdout: '{"code":999,"msg":"broken"}' });
    const network = made.network({ maxConfigs: 0, setUpSerially });
    const pod = await made.pod();
    await assert.rejects(network.setUp(pod, signal), { message: /name="first" failed \(add\): broken$/ });
    assert.deepEqual(made.takeCalls(), setUpSerially ? ['bridge ADD'] : ['bridge ADD', 'tuning ADD']);
    await network.tearDown(pod, signal);
    assert.deepEqual(made.takeCalls(), ['tuning DEL', 'bridge DEL']);
  });
}

test('networks that fail in parallel are all named', async () => {
  const made = await world(chain('first'));
  await made.write('20-second.conflist', chain('second', [tuning]));
  for (const call of ['bridge ADD', 'tuning ADD']) made.answers.set(call, { exitCode: 1, stdout: '{"msg":"broken"}' });
  await assert.rejects(made.network({ maxConfigs: 0 }).setUp(await made.pod(), signal), {
    message:
      'plugin type="bridge" name="first" failed (add): broken; plugin type="tuning" name="second" failed (add): broken',
  });
});

test('the preferred family comes first', async () => {
  const made = await world();
  const stdout = JSON.stringify({ ips: [{ address: '10.0.0.2/24' }, { address: 'fd00::2/64' }] });
  made.answers.set('bridge ADD', { stdout });
  const { ips } = await made.network({ ipPreference: 'ipv6' }).setUp(await made.pod(), signal);
  assert.deepEqual(ips, ['fd00::2', '10.0.0.2']);
});

test('a pod without an address on eth0 is an error', async () => {
  const made = await world();
  made.answers.set('bridge ADD', { stdout: '{"ips":[]}' });
  await assert.rejects(made.network().setUp(await made.pod(), signal), {
    message: 'network "pods" gave the pod no address on eth0',
  });
});

test('setPodCidr() is passed to plugins with the capability', async () => {
  const made = await world(chain('pods', [{ type: 'bridge', capabilities: { ipRanges: true } }]));
  const network = made.network();
  network.setPodCidr('10.1.0.0/24');
  await network.setUp(await made.pod(), signal);
  assert.deepEqual(made.calls[0]?.input['runtimeConfig'], { ipRanges: [[{ subnet: '10.1.0.0/24' }]] });
});

const checks: Record<string, { given: object; calls: string[] }> = {
  'since 0.4.0': { given: { cniVersion: '0.4.0' }, calls: ['bridge CHECK', 'tuning CHECK'] },
  'not before': { given: { cniVersion: '0.3.1' }, calls: [] },
  'not with disableCheck': { given: { disableCheck: true }, calls: [] },
};
for (const [name, { given, calls }] of Object.entries(checks)) {
  test(`check() runs ${name}`, async () => {
    const made = await world(chain('pods', [bridge, tuning], given));
    const network = made.network();
    const pod = await made.pod();
    await network.setUp(pod, signal);
    made.takeCalls();
    await network.check(pod, signal);
    assert.deepEqual(made.takeCalls(), calls);
  });
}

test('check() rejects with the error of the plugin, and for an unknown pod', async () => {
  const made = await world();
  const network = made.network();
  const pod = await made.pod();
  await assert.rejects(network.check(pod, signal), { message: 'no cached network of sandbox s1' });
  await network.setUp(pod, signal);
  made.answers.set('bridge CHECK', { exitCode: 1, stdout: '{"code":100,"msg":"no veth"}' });
  await assert.rejects(network.check(pod, signal), {
    message: 'plugin type="bridge" name="pods" failed (check): no veth',
  });
});
