/** Device plugins behind real sockets: registration in both ways, streams of devices, and plugins that misbehave. */
import assert from 'node:assert/strict';
import { mkdirSync, statSync, writeFileSync } from 'node:fs';
import { createServer, type Socket } from 'node:net';
import { type TestContext, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { Client, credentials, Metadata } from '@grpc/grpc-js';
import { silentLog } from '../../../src/base/log.ts';
import { linuxFileSystem } from '../../../src/host/linux/fs/linux-file-system.ts';
import { linuxClock } from '../../../src/host/linux/process/linux-clock.ts';
import { cleanPluginFolder } from '../../../src/plugins/device/clean-folder.ts';
import type { DevicePlugin } from '../../../src/plugins/device/device-plugin.ts';
import { DevicePluginRegistration } from '../../../src/plugins/device/device-registration.ts';
import { registrationServer } from '../../../src/plugins/device/serve-registration.ts';
import { Empty, RegisterRequest } from '../../../src/plugins/generated/deviceplugin-v1beta1.ts';
import { PluginError } from '../../../src/plugins/plugin-error.ts';
import { temporaryFolder } from '../host/temporary-folder.ts';
import { startDevicePlugin, type TestDevicePlugin } from './test-device-plugin.ts';

const GPU = 'example.com/gpu';
const FOREVER = new AbortController().signal;

interface World {
  readonly folder: string;
  readonly registration: DevicePluginRegistration;
  /** `connected`, `reported ID:HEALTH@NODES …`, `disconnected`, in order. */
  readonly record: readonly string[];
  readonly plugins: readonly DevicePlugin[];
  start(socket: string): Promise<TestDevicePlugin>;
  /** Sends a request to `kubelet.sock`; resolves with the error text, or `undefined`. */
  request(change?: Partial<RegisterRequest>): Promise<string | undefined>;
  atEnd(stop: () => unknown): void;
}

async function newWorld(t: TestContext): Promise<World> {
  const life = new AbortController();
  const stops: (() => unknown)[] = [];
  const folder = await temporaryFolder(t, async () => {
    life.abort(new Error('the test is over'));
    for (const stop of stops) await stop();
  });
  const [record, plugins]: [string[], DevicePlugin[]] = [[], []];
  const receiver = {
    connected(plugin: DevicePlugin) {
      plugins.push(plugin);
      record.push('connected');
    },
    reported: (_: DevicePlugin, devices: Parameters<DeviceReceiver['reported']>[1]) =>
      void record.push(
        `reported ${[...devices.values()].map(({ id, health, numaNodes }) => `${id}:${health}@${numaNodes.join('+')}`).join(' ')}`,
      ),
    disconnected: () => void record.push('disconnected'),
  };
  const registration = new DevicePluginRegistration(
    { clock: linuxClock, log: silentLog, receiver, folder },
    life.signal,
  );
  const listening = Promise.withResolvers<void>();
  const serve = registrationServer({ fs: linuxFileSystem, log: silentLog });
  const register = registration.registerByRequest.bind(registration);
  const serving = serve(`${folder}/kubelet.sock`, register, listening.resolve, life.signal);
  stops.push(() => serving);
  await Promise.race([listening.promise, serving]);
  return {
    folder,
    registration,
    record,
    plugins,
    start: async (socket) => {
      const plugin = await startDevicePlugin(`${folder}/${socket}`);
      stops.push(() => plugin.stop());
      return plugin;
    },
    request: (change) => sendRequest(`${folder}/kubelet.sock`, change),
    atEnd: (stop) => stops.push(stop),
  };
}

type DeviceReceiver = ConstructorParameters<typeof DevicePluginRegistration>[0]['receiver'];

function sendRequest(socketPath: string, change: Partial<RegisterRequest> = {}): Promise<string | undefined> {
  const client = new Client(`unix:${socketPath}`, credentials.createInsecure());
  const request = RegisterRequest.fromPartial({
    version: 'v1beta1',
    endpoint: 'gpu.sock',
    resourceName: GPU,
    ...change,
  });
  return new Promise((resolve) => {
    client.makeUnaryRequest(
      '/v1beta1.Registration/Register',
      (message: RegisterRequest) => Buffer.from(RegisterRequest.encode(message).finish()),
      (bytes) => Empty.decode(bytes),
      request,
      new Metadata(),
      (error) => {
        client.close();
        resolve(error?.details);
      },
    );
  });
}

async function until(check: () => boolean): Promise<void> {
  for (const end = Date.now() + 10_000; !check(); await sleep(5)) {
    if (Date.now() > end) assert.fail('timed out');
  }
}

test('a plugin that sends a request is connected, and its devices are reported', async (t) => {
  const world = await newWorld(t);
  const plugin = await world.start('gpu.sock');
  plugin.report({ ID: 'a', health: 'Healthy', topology: { nodes: [{ ID: 1n }, { ID: -1n }, { ID: 9_999n }] } });
  assert.equal(await world.request(), undefined);
  await until(() => world.record.length === 2);
  plugin.report({ ID: 'a', health: 'Sick', topology: undefined });
  await until(() => world.record.length === 3);
  assert.deepEqual(world.record, ['connected', 'reported a:Healthy@1', 'reported a:Sick@']);
});

for (const [name, change, message] of [
  [
    'of another version',
    { version: 'v1alpha1' },
    'requested API version "v1alpha1" is not supported by kubelet. Supported version is ["v1beta1"]',
  ],
  ['without a domain', { resourceName: 'gpu' }, 'the ResourceName "gpu" is invalid'],
  [
    'of Kubernetes’ domain',
    { resourceName: 'x.kubernetes.io/gpu' },
    'the ResourceName "x.kubernetes.io/gpu" is invalid',
  ],
  ['with a bad name', { resourceName: 'example.com/g pu' }, 'the ResourceName "example.com/g pu" is invalid'],
] as const) {
  test(`a request ${name} is refused with kubelet’s text`, async (t) => {
    const world = await newWorld(t);
    assert.equal(await world.request(change), message);
  });
}

test('a plugin without options is not registered, and an earlier one stays', async (t) => {
  const world = await newWorld(t);
  const plugin = await world.start('gpu.sock');
  await world.request();
  const bad = await world.start('bad.sock');
  bad.failWith('getDevicePluginOptions', new PluginError('Internal', 'broken', 'x'));
  const message = 'failed to get device plugin options: rpc error: code = Internal desc = broken';
  assert.equal(await world.request({ endpoint: 'bad.sock' }), message);
  plugin.report({ ID: 'a', health: 'Healthy', topology: undefined });
  await until(() => world.record.length === 2);
  assert.deepEqual(world.record, ['connected', 'reported a:Healthy@']);
});

test('a plugin that registers again replaces the earlier one, from which nothing more comes', async (t) => {
  const world = await newWorld(t);
  const before = await world.start('gpu.sock');
  before.report({ ID: 'a', health: 'Healthy', topology: undefined });
  await world.request();
  await until(() => world.record.length === 2);
  const after = await world.start('next.sock');
  after.report({ ID: 'b', health: 'Healthy', topology: undefined });
  await world.request({ endpoint: 'next.sock' });
  await until(() => world.record.length === 4);
  before.report({ ID: 'c', health: 'Healthy', topology: undefined });
  await before.stop();
  await sleep(50);
  assert.deepEqual(world.record, ['connected', 'reported a:Healthy@', 'connected', 'reported b:Healthy@']);
});

test('a plugin that dies is disconnected once, and calls of it fail', async (t) => {
  const world = await newWorld(t);
  const plugin = await world.start('gpu.sock');
  plugin.report({ ID: 'a', health: 'Healthy', topology: undefined });
  await world.request();
  await until(() => world.record.length === 2);
  await plugin.stop();
  await until(() => world.record.length === 3);
  assert.deepEqual(world.record.at(-1), 'disconnected');
  await assert.rejects(world.plugins[0]?.allocate(['a'], FOREVER) ?? Promise.resolve(), { name: 'PluginError' });
});

for (const how of ['end', 'fail'] as const) {
  test(`a plugin whose list of devices ${how}s is disconnected`, async (t) => {
    const world = await newWorld(t);
    const plugin = await world.start('gpu.sock');
    await world.request();
    await until(() => world.record.length === 1);
    if (how === 'end') plugin.endReports();
    else plugin.failWith('listAndWatch', new PluginError('Internal', 'broken', 'x'));
    await until(() => world.record.length === 2);
    assert.deepEqual(world.record, ['connected', 'disconnected']);
  });
}

test('a report of more than 16 MiB disconnects its plugin', async (t) => {
  const world = await newWorld(t);
  const plugin = await world.start('gpu.sock');
  await world.request();
  plugin.report({ ID: 'x'.repeat(17 * 1024 * 1024), health: 'Healthy', topology: undefined });
  await until(() => world.record.length === 2);
  assert.deepEqual(world.record, ['connected', 'disconnected']);
});

test('an id that is reported twice counts once', async (t) => {
  const world = await newWorld(t);
  const plugin = await world.start('gpu.sock');
  const device = { ID: 'a', topology: undefined };
  plugin.report({ ...device, health: 'Healthy' }, { ...device, health: 'Unhealthy' });
  await world.request();
  await until(() => world.record.length === 2);
  assert.equal(world.record.at(-1), 'reported a:Unhealthy@');
});

test('calls reach the plugin, with its answers and errors', async (t) => {
  const world = await newWorld(t);
  const plugin = await world.start('gpu.sock');
  plugin.options = { preStartRequired: true, getPreferredAllocationAvailable: true };
  await world.request();
  const [connected] = world.plugins;
  assert.ok(connected);
  assert.deepEqual({ ...connected.options }, plugin.options);
  const preferred = await connected.preferredAllocation(
    { available: ['a', 'b'], mustInclude: ['b'], size: 1 },
    FOREVER,
  );
  assert.deepEqual(preferred, ['b', 'a']);
  assert.deepEqual((await connected.allocate(['a', 'b'], FOREVER))?.envs, { DEVICES: 'a,b' });
  await connected.preStartContainer(['a'], FOREVER);
  plugin.failWith('allocate', new PluginError('ResourceExhausted', 'none left', 'x'));
  await assert.rejects(connected.allocate(['a'], FOREVER), { code: 'ResourceExhausted', message: 'none left' });
});

test('a call to a plugin that hangs ends with its signal', async (t) => {
  const world = await newWorld(t);
  const plugin = await world.start('gpu.sock');
  await world.request();
  plugin.hang('allocate');
  const end = new AbortController();
  const call = world.plugins[0]?.allocate(['a'], end.signal) ?? Promise.resolve();
  setTimeout(() => end.abort(new Error('the pod is deleted')), 20);
  await assert.rejects(call, { message: 'the pod is deleted' });
});

test('plugins of the plugin watcher are checked with kubelet’s texts, and deregistered', async (t) => {
  const world = await newWorld(t);
  const { registration } = world;
  const found = { name: GPU, endpoint: `${world.folder}/gpu.sock`, supportedVersions: ['v1beta1'] };
  assert.throws(() => registration.validate({ ...found, supportedVersions: ['v1', 'v2'] }), {
    message: 'manager version, v1beta1, is not among plugin supported versions [v1 v2]',
  });
  assert.throws(() => registration.validate({ ...found, name: 'gpu' }), {
    message: 'invalid name of device plugin socket: the ResourceName "gpu" is invalid',
  });
  registration.validate(found);
  await world.start('gpu.sock');
  const registered = await registration.register(found, FOREVER);
  await registered.deregister(FOREVER);
  await registered.deregister(FOREVER);
  assert.deepEqual(world.record, ['connected', 'disconnected']);
});

test('the folder is cleaned from sockets; other files and folders stay', async (t) => {
  const world = await newWorld(t);
  const stale = createServer((socket: Socket) => socket.destroy()).listen(`${world.folder}/stale.sock`);
  world.atEnd(() => stale.close());
  await until(() => stale.listening);
  writeFileSync(`${world.folder}/kubelet_internal_checkpoint`, '{}');
  mkdirSync(`${world.folder}/sub`);
  await cleanPluginFolder(world.folder, linuxFileSystem);
  const has = (name: string): boolean => statSync(`${world.folder}/${name}`, { throwIfNoEntry: false }) !== undefined;
  assert.deepEqual(['stale.sock', 'kubelet.sock', 'kubelet_internal_checkpoint', 'sub'].map(has), [
    false,
    false,
    true,
    true,
  ]);
});
