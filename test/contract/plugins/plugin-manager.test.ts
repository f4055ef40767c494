/** Registration of plugins on real unix sockets. */
import assert from 'node:assert/strict';
import { mkdirSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { createServer, type Socket } from 'node:net';
import { type TestContext, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Log } from '../../../src/base/log.ts';
import { linuxFileSystem } from '../../../src/host/linux/fs/linux-file-system.ts';
import { linuxClock } from '../../../src/host/linux/process/linux-clock.ts';
import type { CsiNodeInfo } from '../../../src/plugins/csi/csi-node-info.ts';
import { CsiRegistration } from '../../../src/plugins/csi/csi-registration.ts';
import { RegistrationDefinition } from '../../../src/plugins/generated/pluginregistration-v1.ts';
import { PluginError } from '../../../src/plugins/plugin-error.ts';
import { PluginManager } from '../../../src/plugins/registration/plugin-manager.ts';
import { grpcService, serveGrpc } from '../../csi/serve-grpc.ts';
import { startTestCsiDriver, type TestCsiDriver, type TestCsiDriverOptions } from '../../csi/test-csi-driver.ts';
import { temporaryFolder } from '../host/temporary-folder.ts';

const NO_EFFECTS = {
  stage: async () => {},
  unstage: async () => {},
  publish: async () => {},
  unpublish: async () => {},
};

interface World {
  readonly rootDir: string;
  readonly registry: string;
  readonly drivers: CsiRegistration;
  /** `install NAME NODE_ID` and `uninstall NAME`, in order. */
  readonly record: readonly string[];
  readonly warnings: readonly string[];
  /** The error of the next installs. */
  failInstalls(error: Error | undefined): void;
  start(options: Partial<TestCsiDriverOptions> & { readonly name: string }): Promise<TestCsiDriver>;
  has(name: string): boolean;
  /** Called before the folder is removed. */
  atEnd(stop: () => void): void;
}

async function managed(t: TestContext): Promise<World> {
  const life = new AbortController();
  const stops: (() => unknown)[] = [];
  const rootDir = await temporaryFolder(t, async () => {
    life.abort(new Error('the test is over'));
    for (const stop of stops) await stop();
  });
  const [record, warnings]: [string[], string[]] = [[], []];
  let failure: Error | undefined;
  const warn = (message: string, fields: object = {}): void => {
    const error: unknown = Reflect.get(fields, 'error');
    warnings.push(error instanceof Error ? `${message}: ${error.message}` : message);
  };
  const log: Log = { debug() {}, info() {}, warn, error: warn };
  const drivers = new CsiRegistration({
    clock: linuxClock,
    log,
    record: {
      async install(name: string, { nodeId }: CsiNodeInfo) {
        if (failure) throw failure;
        record.push(`install ${name} ${nodeId}`);
      },
      async uninstall(name: string) {
        record.push(`uninstall ${name}`);
      },
    },
  });
  const registry = `${rootDir}/plugins_registry`;
  const deps = { fs: linuxFileSystem, clock: linuxClock, log, handlers: new Map([['CSIPlugin', drivers]]) };
  const running = new PluginManager(rootDir, deps, life.signal).run(life.signal);
  stops.push(() => running);
  await until(() => statSync(registry, { throwIfNoEntry: false }) !== undefined);
  return {
    rootDir,
    registry,
    drivers,
    record,
    warnings,
    failInstalls: (error) => {
      failure = error;
    },
    async start(options) {
      const driver = await startTestCsiDriver({ rootDir, dataDir: `${rootDir}/data`, effects: NO_EFFECTS, ...options });
      stops.push(() => driver.stop());
      return driver;
    },
    has: (name) => drivers.has(name),
    atEnd: (stop) => stops.push(stop),
  };
}

async function until(condition: () => boolean, limitMs = 10_000): Promise<void> {
  const endMs = Date.now() + limitMs;
  while (!condition()) {
    if (Date.now() > endMs) assert.fail(`not so after ${limitMs} ms: ${condition}`);
    await sleep(5);
  }
}

test('a driver registers when its socket appears and is gone with it', async (t) => {
  const world = await managed(t);
  assert.equal(statSync(world.registry).mode & 0o777, 0o750);
  const driver = await world.start({ name: 'a.csi', nodeInfo: { nodeId: 'n1', maxVolumesPerNode: 3n } });
  await until(() => driver.statuses.length > 0);
  assert.deepEqual(driver.statuses, [{ pluginRegistered: true, error: '' }]);
  assert.ok(world.has('a.csi'));
  driver.stop();
  await until(() => world.record.length === 2);
  assert.ok(!world.has('a.csi'));
  assert.deepEqual(world.record, ['install a.csi n1', 'uninstall a.csi']);
  assert.deepEqual(world.warnings, []);
});

test('a socket that is replaced registers again', async (t) => {
  const world = await managed(t);
  const driver = await world.start({ name: 'a.csi' });
  await until(() => driver.statuses.length === 1);
  await driver.registerAgain();
  await until(() => driver.statuses.length === 2);
  assert.deepEqual(world.record, ['install a.csi a.csi-node', 'uninstall a.csi', 'install a.csi a.csi-node']);
  assert.ok(world.has('a.csi'));
});

test('sockets in folders are found, at the start and later; hidden names and other files are ignored', async (t) => {
  const world = await managed(t);
  const driver = await world.start({ name: 'a.csi' });
  await until(() => driver.statuses.length === 1);
  writeFileSync(`${world.registry}/notes.txt`, 'no socket');
  renameSync(driver.registrationSocket, `${world.registry}/.hidden`);
  await until(() => !world.has('a.csi'));
  mkdirSync(`${world.registry}/vendor/inner`, { recursive: true });
  renameSync(`${world.registry}/.hidden`, `${world.registry}/vendor/inner/reg.sock`);
  await until(() => driver.statuses.length === 2);
  rmSync(`${world.registry}/vendor`, { recursive: true });
  await until(() => !world.has('a.csi'));
  assert.deepEqual(world.warnings, []);
});

test('the folder is created again after it was removed', async (t) => {
  const world = await managed(t);
  const first = await world.start({ name: 'a.csi' });
  await until(() => first.statuses.length === 1);
  rmSync(world.registry, { recursive: true });
  await until(() => !world.has('a.csi'));
  await until(() => statSync(world.registry, { throwIfNoEntry: false }) !== undefined);
  const second = await world.start({ name: 'b.csi' });
  await until(() => second.statuses.length === 1);
});

test('kubelet’s reasons reach a plugin that is refused', async (t) => {
  const world = await managed(t);
  const device = await world.start({ name: 'gpu', pluginType: 'DevicePlugin' });
  const old = await world.start({ name: 'old.csi', supportedVersions: ['0.3.0'] });
  const none = await world.start({ name: 'none.csi', supportedVersions: [] });
  const anonymous = await world.start({ name: 'anonymous.csi', nodeInfo: { nodeId: '' } });
  await until(() => [device, old, none, anonymous].every(({ statuses }) => statuses.length > 0));
  const reasons = [device, old, none].map(({ statuses }) => statuses[0]);
  const endpoint = (name: string) => `${world.rootDir}/plugins/${name}/csi.sock`;
  const failed = 'RegisterPlugin error -- plugin validation failed with err: validation failed for CSI Driver';
  assert.deepEqual(reasons, [
    {
      pluginRegistered: false,
      error: `RegisterPlugin error -- no handler registered for plugin type: DevicePlugin at socket ${world.registry}/gpu-reg.sock`,
    },
    {
      pluginRegistered: false,
      error: `${failed} old.csi at endpoint ${endpoint('old.csi')}: kubernetes.io/csi: ValidatePlugin for CSI driver "old.csi" failed. None of the versions specified ["0.3.0"] are supported. err=highest supported version reported is 0.3.0, must be v1.x`,
    },
    {
      pluginRegistered: false,
      error: `${failed} none.csi at endpoint ${endpoint('none.csi')}: kubernetes.io/csi: ValidatePlugin for CSI driver "none.csi" failed. Plugin returned an empty list for supported versions`,
    },
  ]);
});

test('a second driver of the same name registers only with a higher version, and outlives the first', async (t) => {
  const world = await managed(t);
  const first = await world.start({ name: 'a.csi', nodeInfo: { nodeId: 'first' } });
  await until(() => first.statuses.length === 1);
  const rival = `${world.registry}/rival.sock`;
  const statuses: { pluginRegistered: boolean; error: string }[] = [];
  let version = '1.0';
  const endpoint = `${world.rootDir}/plugins/a.csi/csi.sock`;
  const service = grpcService(RegistrationDefinition, {
    getInfo: async () => ({ type: 'CSIPlugin', name: 'a.csi', endpoint, supportedVersions: [version] }),
    async notifyRegistrationStatus(status) {
      statuses.push(status);
      return {};
    },
  });
  const server = await serveGrpc(rival, service);
  world.atEnd(() => server.close());
  await until(() => statuses.length === 1);
  assert.match(
    statuses[0]?.error ?? '',
    /failed\. Another driver with the same name is already registered with a higher supported version: "1\.0\.0"$/,
  );
  version = '1.1';
  await until(() => statuses.some(({ pluginRegistered }) => pluginRegistered));
  rmSync(first.registrationSocket);
  await sleep(200);
  assert.ok(world.has('a.csi'));
  assert.ok(!world.record.includes('uninstall a.csi'));
});

test('two drivers of the same name that appear together: one registers, the other is refused', async (t) => {
  const world = await managed(t);
  const answers: string[] = [];
  const twin = async (name: string): Promise<void> => {
    const endpoint = `${world.rootDir}/plugins/a.csi/csi.sock`;
    const service = grpcService(RegistrationDefinition, {
      getInfo: async () => ({ type: 'CSIPlugin', name: 'a.csi', endpoint, supportedVersions: ['1.0'] }),
      async notifyRegistrationStatus({ pluginRegistered }) {
        answers.push(`${name} ${pluginRegistered}`);
        return {};
      },
    });
    const server = await serveGrpc(`${world.registry}/${name}.sock`, service);
    world.atEnd(() => server.close());
  };
  const driver = await world.start({ name: 'a.csi' });
  await until(() => driver.statuses.length === 1);
  driver.answerNodeInfo(() => sleep(100).then(() => ({ nodeId: 'slow' })));
  rmSync(driver.registrationSocket);
  await until(() => !world.has('a.csi'));
  await Promise.all([twin('one'), twin('two')]);
  await until(() => answers.length >= 2);
  assert.equal(new Set(answers.filter((each) => each.endsWith('true'))).size, 1);
  assert.ok(answers.some((each) => each.endsWith('false')));
});

test('a registration that fails is undone, retried with back-off, and logged once', async (t) => {
  const world = await managed(t);
  world.failInstalls(new Error('error updating Node object with CSI driver node info: no server'));
  const driver = await world.start({ name: 'a.csi' });
  await until(() => driver.statuses.length === 2);
  const error =
    'RegisterPlugin error -- plugin registration failed with err: error updating Node object with CSI driver node info: no server';
  assert.deepEqual(driver.statuses, Array(2).fill({ pluginRegistered: false, error }));
  assert.ok(!world.has('a.csi'));
  assert.deepEqual(world.record, ['uninstall a.csi', 'uninstall a.csi']);
  assert.deepEqual(world.warnings, [`cannot register plugin, retrying: ${error}`]);
  world.failInstalls(undefined);
  await until(() => driver.statuses.length === 3);
  assert.ok(world.has('a.csi'));
});

test('a driver whose NodeGetInfo fails receives the gRPC error', async (t) => {
  const world = await managed(t);
  const driver = await world.start({ name: 'a.csi' });
  await until(() => driver.statuses.length === 1);
  driver.answerNodeInfo(async () => {
    throw new PluginError('Internal', 'no metadata server', 'NodeGetInfo');
  });
  await driver.registerAgain();
  await until(() => driver.statuses.length === 2);
  assert.equal(
    driver.statuses[1]?.error,
    'RegisterPlugin error -- plugin registration failed with err: rpc error: code = Internal desc = no metadata server',
  );
  // Once for the socket that was replaced, once for the registration that failed.
  assert.deepEqual(world.record.slice(1, 3), ['uninstall a.csi', 'uninstall a.csi']);
});

test('plugins that hang, answer nonsense or do not listen delay no other, and are logged once', async (t) => {
  const world = await managed(t);
  const sockets: Socket[] = [];
  const silent = createServer((socket) => sockets.push(socket)).listen(`${world.registry}/silent.sock`);
  const babble = createServer((socket) => {
    socket.on('error', () => undefined);
    socket.end('HTTP/1.1 400 Bad Request\r\n\r\n');
  }).listen(`${world.registry}/babble.sock`);
  const hanging = await serveGrpc(
    `${world.registry}/hanging.sock`,
    grpcService(RegistrationDefinition, { getInfo: () => new Promise<never>(() => undefined) }),
  );
  world.atEnd(() => {
    for (const socket of sockets) socket.destroy();
    silent.close();
    babble.close();
    hanging.close();
  });
  const startMs = Date.now();
  const driver = await world.start({ name: 'a.csi' });
  await until(() => driver.statuses.length === 1);
  assert.ok(Date.now() - startMs < 1_500, `took ${Date.now() - startMs} ms`);
  await sleep(3_500); // two more attempts
  const own = world.warnings.filter((each) => each.includes('hanging.sock'));
  assert.deepEqual(own, [
    `cannot register plugin, retrying: RegisterPlugin error -- failed to get plugin info using RPC GetInfo at socket ${world.registry}/hanging.sock, err: rpc error: code = DeadlineExceeded desc = context deadline exceeded`,
  ]);
});
