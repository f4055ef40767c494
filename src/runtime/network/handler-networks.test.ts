import assert from 'node:assert/strict';
import { test } from 'node:test';
import { CniWorld, CONF_DIR } from './fake/cni-world.ts';

const signal = new AbortController().signal;
const KATA_DIR = '/etc/cni/kata.d';
const chain = (name: string, type: string, cniVersion = '1.0.0') => ({ cniVersion, name, plugins: [{ type }] });
const HANDLERS = new Map([['kata', { confDir: KATA_DIR, maxConfigs: undefined }]]);

async function world(): Promise<CniWorld> {
  const made = new CniWorld();
  for (const type of ['bridge', 'macvlan', 'ptp']) made.install(type);
  await made.write('10-pods.conflist', chain('pods', 'bridge'));
  await made.write('10-kata.conflist', chain('kata-pods', 'macvlan'), KATA_DIR);
  return made;
}

test('a pod is set up and torn down with the networks of its handler, others with the default', async () => {
  const made = await world();
  const network = made.network({ handlers: HANDLERS });
  const kata = await made.pod({ sandboxId: 's1', runtimeHandler: 'kata' });
  const other = await made.pod({ sandboxId: 's2', runtimeHandler: 'other' });
  assert.deepEqual(Object.keys((await network.setUp(kata, signal)).results), ['kata-pods/eth0']);
  assert.deepEqual(Object.keys((await network.setUp(other, signal)).results), ['pods/eth0']);
  await network.tearDown(kata, signal);
  await network.tearDown(other, signal);
  assert.deepEqual(made.takeCalls(), ['macvlan ADD', 'bridge ADD', 'macvlan DEL', 'bridge DEL']);
});

test('after a restart without the handler its pods are torn down with their own networks', async () => {
  const made = await world();
  const pod = await made.pod({ runtimeHandler: 'kata' });
  await made.network({ handlers: HANDLERS }).setUp(pod, signal);
  made.takeCalls();
  await made.network().tearDown(pod, signal);
  assert.deepEqual(made.takeCalls(), ['macvlan DEL']);
});

test('a pod whose cache is damaged is torn down on all networks', async () => {
  const made = await world();
  const pod = await made.pod({ runtimeHandler: 'kata' });
  await made.network({ handlers: HANDLERS }).setUp(pod, signal);
  await made.host.fs.writeFile('/var/lib/nodelet/cni/s1.json', '{');
  made.takeCalls();
  await made.network({ handlers: HANDLERS }).tearDown(pod, signal);
  assert.deepEqual(made.takeCalls(), ['macvlan DEL', 'bridge DEL']);
});

test('status() is that of the default networks; handlerStatuses() that of the others', async () => {
  const made = await world();
  await made.host.fs.remove(`${KATA_DIR}/10-kata.conflist`);
  const network = made.network({ handlers: HANDLERS });
  await network.refresh();
  assert.deepEqual(network.status(), { ready: true, networks: ['pods'] });
  const message = 'Network plugin returns error: cni plugin not initialized';
  assert.deepEqual(
    [...network.handlerStatuses()],
    [['kata', { ready: false, reason: 'NetworkPluginNotReady', message }]],
  );
  const pod = await made.pod({ runtimeHandler: 'kata' });
  await assert.rejects(network.setUp(pod, signal), { message: 'cni plugin not initialized' });
});

test('the number of configurations of a handler is that of the default, unless it has its own', async () => {
  const made = await world();
  await made.write('20-kata.conflist', chain('kata-more', 'ptp'), KATA_DIR);
  const networksWith = async (maxConfigs: number | undefined): Promise<unknown> => {
    const network = made.network({ handlers: new Map([['kata', { confDir: KATA_DIR, maxConfigs }]]) });
    await network.refresh();
    return network.handlerStatuses().get('kata');
  };
  assert.deepEqual(await networksWith(undefined), { ready: true, networks: ['kata-pods'] });
  assert.deepEqual(await networksWith(0), { ready: true, networks: ['kata-pods', 'kata-more'] });
});

test('run() watches the directories of the default and of every handler', async () => {
  const made = await world();
  const ending = new AbortController();
  const network = made.network({ handlers: HANDLERS });
  const running = network.run(ending.signal);
  await made.host.clock.advance(1);
  await made.write('10-kata.conflist', chain('renamed', 'macvlan'), KATA_DIR);
  await made.write('10-pods.conflist', chain('changed', 'bridge'), CONF_DIR);
  await made.host.clock.advance(1);
  assert.deepEqual(network.handlerStatuses().get('kata'), { ready: true, networks: ['renamed'] });
  assert.deepEqual(network.status(), { ready: true, networks: ['changed'] });
  ending.abort();
  await running;
});

test('collectGarbage() runs GC on the networks of every handler, once for each name', async () => {
  const made = await world();
  await made.write('10-pods.conflist', chain('pods', 'bridge', '1.1.0'));
  await made.write('10-kata.conflist', chain('kata-pods', 'macvlan', '1.1.0'), KATA_DIR);
  await made.write('10-same.conflist', chain('pods', 'bridge', '1.1.0'), '/same');
  const handlers = new Map([...HANDLERS, ['same', { confDir: '/same', maxConfigs: undefined }]]);
  await made.network({ handlers }).collectGarbage(new Set(), signal);
  const calls = made.takeCalls().filter((call) => call.endsWith(' GC'));
  assert.deepEqual(calls, ['bridge GC', 'macvlan GC']);
});
