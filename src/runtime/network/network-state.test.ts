import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { CniPodNetwork } from './create-pod-network.ts';
import { CniWorld, CONF_DIR } from './fake/cni-world.ts';

const signal = new AbortController().signal;
const list = (name: string, given: object = {}) => ({
  cniVersion: '1.0.0',
  name,
  plugins: [{ type: 'bridge' }],
  ...given,
});
const notReady = (text: string) => ({
  ready: false,
  reason: 'NetworkPluginNotReady',
  message: `Network plugin returns error: ${text}`,
});

const directories: Record<string, { files: Record<string, unknown>; maxConfigs?: number; status: object }> = {
  none: { files: {}, status: notReady('cni plugin not initialized') },
  'the first by name, of all extensions': {
    files: { '20-b.conflist': list('b'), '10-a.json': { ...list('a'), type: 'bridge', plugins: undefined } },
    status: { ready: true, networks: ['a'] },
  },
  'other files do not count': {
    files: { '10-a.conflist.bak': list('a'), README: '' },
    status: notReady('cni plugin not initialized'),
  },
  'all of them': {
    files: { '20-b.conflist': list('b'), '10-a.conf': { ...list('a'), type: 'bridge', plugins: undefined } },
    maxConfigs: 0,
    status: { ready: true, networks: ['a', 'b'] },
  },
  'an invalid file is ignored': {
    files: { '10-a.conflist': '', '20-b.conflist': list('b') },
    maxConfigs: 0,
    status: { ready: true, networks: ['b'] },
  },
  'a duplicate name is ignored': {
    files: { '10-a.conflist': list('a'), '20-b.conflist': list('a') },
    maxConfigs: 0,
    status: { ready: true, networks: ['a'] },
  },
  'only invalid files: paths and errors': {
    files: { '10-a.conflist': '', '20-b.conf': list('b'), '30-c.conflist': list('c', { plugins: [{}] }) },
    status: notReady(
      `cni plugin not initialized: ${CONF_DIR}/10-a.conflist: the file is empty: ` +
        `${CONF_DIR}/20-b.conf: type: must name a plugin: ` +
        `${CONF_DIR}/30-c.conflist: plugins[0].type: must name a plugin`,
    ),
  },
};
for (const [name, { files, maxConfigs = 1, status }] of Object.entries(directories)) {
  test(`status(): ${name}`, async () => {
    const made = new CniWorld();
    for (const [file, config] of Object.entries(files)) await made.write(file, config);
    const network = made.network({ maxConfigs });
    await network.refresh();
    assert.deepEqual(network.status(), status);
  });
}

test('setUp() without a network rejects with the reason', async () => {
  const made = new CniWorld();
  await made.write('10-a.conflist', 'no');
  await assert.rejects(made.network().setUp(await made.pod(), signal), {
    message: /^cni plugin not initialized: \/etc\/cni\/net\.d\/10-a\.conflist: .*JSON/,
  });
});

test('plugins of the directory named after the network come last, unless the list is complete', async () => {
  const made = new CniWorld();
  await made.write('10-a.conflist', list('a'));
  await made.host.fs.makeDirectory(`${CONF_DIR}/a`);
  await made.host.fs.writeFile(`${CONF_DIR}/a/10-more.conf`, '{"type":"tuning"}');
  const network = made.network();
  const types = async (): Promise<unknown> => {
    await network.refresh();
    return network.configurations().networks.map(({ plugins }) => plugins.map(({ type }) => type));
  };
  assert.deepEqual(await types(), [['bridge', 'tuning']]);
  await made.write('10-a.conflist', list('a', { loadOnlyInlinedPlugins: true }));
  assert.deepEqual(await types(), [['bridge']]);
  await made.write('10-a.conflist', { cniVersion: '1.1.0', name: 'a' });
  made.install('tuning');
  assert.deepEqual(await types(), [['tuning']]);
});

/** Starts watching, and returns a wait for all pending work in memory. */
function following({ host }: CniWorld, network: CniPodNetwork) {
  const stop = new AbortController();
  const ended = network.run(stop.signal);
  return {
    settled: () => host.clock.advance(1),
    async [Symbol.asyncDispose]() {
      stop.abort();
      await ended;
    },
  };
}

test('run(): a configuration that is added, changed or removed takes effect at once', async () => {
  const made = new CniWorld();
  await made.host.fs.makeDirectory(CONF_DIR);
  const network = made.network();
  await using follower = following(made, network);
  await follower.settled();
  assert.equal(network.status().ready, false);
  await made.write('10-a.conflist', list('a'));
  await follower.settled();
  assert.deepEqual(network.status(), { ready: true, networks: ['a'] });
  await made.write('05-b.conflist', list('b'));
  await follower.settled();
  assert.deepEqual(network.status(), { ready: true, networks: ['b'] });
  await made.host.fs.remove(`${CONF_DIR}/05-b.conflist`);
  await made.host.fs.remove(`${CONF_DIR}/10-a.conflist`);
  await follower.settled();
  assert.deepEqual(network.status(), notReady('cni plugin not initialized'));
});

test('subscribe(): notified of added and removed networks, and not after unsubscribing', async () => {
  const made = new CniWorld();
  await made.host.fs.makeDirectory(CONF_DIR);
  const network = made.network();
  const notified: boolean[] = [];
  const unsubscribe = network.subscribe(() => void notified.push(network.status().ready));
  await using follower = following(made, network);
  await made.write('10-a.conflist', list('a'));
  await follower.settled();
  await made.host.fs.remove(`${CONF_DIR}/10-a.conflist`);
  await follower.settled();
  assert.deepEqual(notified, [true, false]);
  unsubscribe();
  await made.write('10-a.conflist', list('a'));
  await follower.settled();
  assert.equal(notified.length, 2);
});

test('run(): the directory may be created late, removed, and created again', async () => {
  const made = new CniWorld();
  const network = made.network();
  await using follower = following(made, network);
  for (let round = 0; round < 2; round++) {
    await follower.settled();
    assert.equal(network.status().ready, false);
    await made.host.fs.makeDirectory('/etc/cni');
    await follower.settled();
    await made.write('10-a.conflist', list('a'));
    await follower.settled();
    assert.equal(network.status().ready, true);
    await made.host.fs.removeTree('/etc');
  }
});

test('run(): a directory that cannot be watched is retried', async () => {
  const made = new CniWorld();
  await made.write('10-a.conflist', list('a'));
  made.host.fs.errors.failNext('stat', 'EIO');
  const network = made.network();
  await using follower = following(made, network);
  await follower.settled();
  assert.equal(network.status().ready, false);
  await made.host.clock.advance(10_000);
  assert.equal(network.status().ready, true);
});

test('status(): STATUS of version 1.1 is queried at a change, then when the status is stale', async () => {
  const made = new CniWorld();
  made.install('bridge');
  await made.write('10-a.conflist', list('a', { cniVersion: '1.1.0' }));
  made.answers.set('bridge STATUS', { exitCode: 1, stdout: '{"code":50,"msg":"daemon is not up"}' });
  const network = made.network();
  await network.refresh();
  assert.deepEqual(network.status(), notReady('plugins have not reported their status yet'));
  await made.host.clock.advance(0);
  const unavailable = notReady('plugin type="bridge" name="a" failed (status): daemon is not up');
  assert.deepEqual([network.status(), network.status()], [unavailable, unavailable]);
  assert.deepEqual(made.takeCalls(), ['bridge STATUS']);

  made.answers.delete('bridge STATUS');
  await made.host.clock.advance(10_000);
  assert.deepEqual(network.status(), unavailable);
  await made.host.clock.advance(1);
  assert.deepEqual(network.status(), { ready: true, networks: ['a'] });
  assert.deepEqual(made.takeCalls(), ['bridge STATUS']);
});

test('status(): a plugin that does not respond counts as unavailable', async () => {
  const made = new CniWorld();
  made.install('bridge');
  await made.write('10-a.conflist', list('a', { cniVersion: '1.1.0' }));
  made.answers.set('bridge STATUS', new Promise(() => {}));
  const network = made.network();
  await network.refresh(); // does not wait for the plugin
  await made.host.clock.advance(20_000);
  const status = network.status();
  assert.ok(!status.ready);
  assert.match(status.message, /plugin type="bridge" name="a" failed \(status\): aborted/);
});
