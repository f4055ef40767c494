/** Plugins of DRA drivers on real unix sockets. */
import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { silentLog } from '../../../src/base/log.ts';
import { linuxFileSystem } from '../../../src/host/linux/fs/linux-file-system.ts';
import { linuxClock } from '../../../src/host/linux/process/linux-clock.ts';
import { DraRegistration } from '../../../src/plugins/dra/dra-registration.ts';
import { FakeDraDriver } from '../../../src/plugins/fake/fake-dra-driver.ts';
import { PluginManager } from '../../../src/plugins/registration/plugin-manager.ts';
import { startTestDraDriver, type TestDraDriver, type TestDraDriverOptions } from '../../dra/test-dra-driver.ts';
import { until } from '../../integration/until.ts';
import { temporaryFolder } from '../host/temporary-folder.ts';

const GPU = 'gpu.example.com';
const CLAIM = { namespace: 'default', uid: 'c1', name: 'gpu' };
const never = new AbortController().signal;

async function managed(t: TestContext) {
  const life = new AbortController();
  const plugins: TestDraDriver[] = [];
  const rootDir = await temporaryFolder(t, async () => {
    life.abort(new Error('the test is over'));
    for (const plugin of plugins) plugin.stop();
    await running.catch(() => undefined);
  });
  const [usable, health, registered]: [string[], string[], string[]] = [[], [], []];
  const drivers = new DraRegistration({
    clock: linuxClock,
    log: silentLog,
    onUsable: (driver, isUsable) => usable.push(`${driver} ${isUsable}`),
    health: {
      onHealth: (driver, devices) => health.push(`${driver} ${devices.map(({ health: each }) => each).join()}`),
      onHealthLost: (driver) => health.push(`${driver} lost`),
    },
  });
  drivers.subscribe((name) => registered.push(name));
  const deps = { fs: linuxFileSystem, clock: linuxClock, log: silentLog, handlers: new Map([['DRAPlugin', drivers]]) };
  const running = new PluginManager(rootDir, deps, life.signal).run(life.signal);
  return {
    drivers,
    usable,
    health,
    registered,
    async start(driver: FakeDraDriver, options: Partial<TestDraDriverOptions> = {}): Promise<TestDraDriver> {
      const plugin = await startTestDraDriver({ driver, rootDir, ...options });
      plugins.push(plugin);
      return plugin;
    },
  };
}

for (const version of ['v1', 'v1beta1']) {
  test(`a plugin of ${version} registers, and its calls have answers`, async (t) => {
    const it = await managed(t);
    const driver = new FakeDraDriver(GPU, () => [{ requestNames: ['r'], cdiDeviceIds: ['a/b=c'] }]);
    const service = `k8s.io.kubelet.pkg.apis.dra.${version}.DRAPlugin`;
    const plugin = await it.start(driver, { supportedVersions: [`${version}.DRAPlugin`], service });
    await until(() => it.usable.includes(`${GPU} true`));
    await until(() => plugin.statuses.length > 0);
    assert.deepEqual(plugin.statuses, [{ pluginRegistered: true, error: '' }]);
    const { claims } = await it.drivers.driver(GPU).prepare([CLAIM], never);
    const [device] = claims['c1']?.devices ?? [];
    assert.deepEqual([device?.requestNames, device?.cdiDeviceIds], [['r'], ['a/b=c']]);
    const answer = await it.drivers.driver(GPU).unprepare([CLAIM], never);
    assert.deepEqual(Object.keys(answer.claims), ['c1']);
  });
}

test('a plugin without a supported service is refused with the reason', async (t) => {
  const it = await managed(t);
  const plugin = await it.start(new FakeDraDriver(GPU), { supportedVersions: ['v1alpha4.Node'] });
  await until(() => plugin.statuses.length > 0);
  assert.equal(
    plugin.statuses[0]?.error,
    `RegisterPlugin error -- plugin validation failed with err: invalid supported gRPC versions of DRA driver plugin ${GPU} ` +
      `at endpoint ${plugin.endpoint}: none of services supported by the plugin (["v1alpha4.Node"]) are supported by the ` +
      'kubelet (["v1.DRAPlugin" "v1beta1.DRAPlugin"])',
  );
  assert.throws(() => it.drivers.driver(GPU), { message: `DRA driver ${GPU} is not registered` });
});

test('of two plugins of a driver the newest connected one is used: a rolling update', async (t) => {
  const it = await managed(t);
  const [old, fresh] = [new FakeDraDriver(GPU), new FakeDraDriver(GPU)];
  const first = await it.start(old, { instance: 'old' });
  await until(() => it.registered.length === 2); // registered, then connected
  const second = await it.start(fresh, { instance: 'new' });
  await until(() => it.registered.length === 4);
  const usedBy = async (): Promise<string> => {
    const before = fresh.calls.length;
    await it.drivers.driver(GPU).prepare([CLAIM], never);
    return fresh.calls.length > before ? 'new' : 'old';
  };
  assert.equal(await usedBy(), 'new');
  second.closeDriver();
  await until(async () => (await usedBy().catch(() => '')) === 'old');
  await second.openDriver();
  await until(async () => (await usedBy()) === 'new');
  first.stop();
  await until(() => it.usable.length >= 7);
  assert.equal(await usedBy(), 'new');
  second.stop();
  await until(() => it.usable.at(-1) === `${GPU} false`);
  await until(() => {
    try {
      it.drivers.driver(GPU);
      return false;
    } catch {
      return true;
    }
  });
});

test('a second registration of the same endpoint is refused', async (t) => {
  const it = await managed(t);
  const first = await it.start(new FakeDraDriver(GPU));
  await until(() => first.statuses.length > 0);
  const second = await it.start(new FakeDraDriver(GPU), { instance: 'thief', endpoint: first.endpoint });
  await until(() => second.statuses.length > 0);
  const reason = `endpoint ${first.endpoint} already registered for DRA driver plugin ${GPU}`;
  assert.equal(second.statuses[0]?.error, `RegisterPlugin error -- plugin registration failed with err: ${reason}`);
});

test('a plugin that dies keeps its registration, and its calls fail at once', async (t) => {
  const it = await managed(t);
  const plugin = await it.start(new FakeDraDriver(GPU));
  await until(() => it.usable.includes(`${GPU} true`));
  plugin.closeDriver();
  await until(() => it.usable.at(-1) === `${GPU} false`);
  await assert.rejects(it.drivers.driver(GPU).prepare([CLAIM], never), { name: 'PluginError', code: 'Unavailable' });
  await plugin.openDriver();
  await until(() => it.usable.at(-1) === `${GPU} true`);
  await it.drivers.driver(GPU).prepare([CLAIM], never);
});

test('health is followed, and lost with its stream and with the plugin', async (t) => {
  const it = await managed(t);
  const plugin = await it.start(new FakeDraDriver(GPU));
  await until(() => plugin.streams === 1);
  const device = { poolName: 'box', deviceName: 'a' };
  const rest = { lastUpdatedTime: 0n, healthCheckTimeoutSeconds: 0n, message: '' };
  plugin.sendHealth({ devices: [{ device, health: 1, ...rest }] });
  plugin.sendHealth({ devices: [{ device, health: 2, ...rest }] });
  await until(() => it.health.length === 2);
  plugin.endHealth();
  await until(() => it.health.length === 3);
  assert.deepEqual(it.health, [`${GPU} 1`, `${GPU} 2`, `${GPU} lost`]);
  await until(() => plugin.streams === 1); // again after five seconds
  plugin.sendHealth({ devices: [{ device, health: 1, ...rest }] });
  await until(() => it.health.length === 4);
  plugin.stop();
  await until(() => it.health.length >= 5); // the stream ends, and the plugin is deregistered
  assert.equal(it.health.at(-1), `${GPU} lost`);
});
