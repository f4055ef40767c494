/** The contract of the port to CSI drivers, and of the in-memory driver that stands for real ones. */
import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import type { CsiDriver, CsiDrivers, CsiNodeCapability } from '../../../src/plugins/csi/csi-drivers.ts';
import type { FakeCsiDriver } from '../../../src/plugins/fake/fake-csi-driver.ts';
import {
  NodePublishVolumeRequest,
  NodeStageVolumeRequest,
  VolumeCapability_AccessMode_Mode,
} from '../../../src/plugins/generated/csi-v1.ts';
import { PluginError } from '../../../src/plugins/plugin-error.ts';

export const DRIVER = 'disk.csi.example.com';

/** One node with one driver. */
export interface CsiWorld {
  readonly drivers: CsiDrivers;
  /** The driver behind the port: its faults and calls. */
  readonly behind: FakeCsiDriver;
  register(): Promise<void>;
  deregister(): Promise<void>;
}

export type MakeCsiWorld = (t: TestContext, capabilities?: readonly CsiNodeCapability[]) => Promise<CsiWorld>;

const FOREVER = new AbortController().signal;
const VOLUME = { volumeId: 'vol-1', stagingTargetPath: '/k/staging' };
const TARGET = { volumeId: 'vol-1', targetPath: '/k/pods/a/mount' };
const CAPABILITY = {
  mount: { fsType: 'ext4', mountFlags: ['noatime'], volumeMountGroup: '1000' },
  accessMode: { mode: VolumeCapability_AccessMode_Mode.SINGLE_NODE_WRITER },
};

const stageRequest = (): NodeStageVolumeRequest =>
  NodeStageVolumeRequest.fromPartial({ ...VOLUME, volumeCapability: CAPABILITY, secrets: { password: 'x' } });
const publishRequest = (change: Partial<NodePublishVolumeRequest> = {}): NodePublishVolumeRequest =>
  NodePublishVolumeRequest.fromPartial({ ...VOLUME, ...TARGET, volumeCapability: CAPABILITY, ...change });

async function staged(world: CsiWorld): Promise<CsiDriver> {
  const driver = world.drivers.driver(DRIVER);
  await driver.stageVolume(stageRequest(), FOREVER);
  return driver;
}

async function fails(call: Promise<unknown>, code: PluginError['code'], method: string): Promise<PluginError> {
  const error: unknown = await call.then(
    () => assert.fail(`${method} did not fail`),
    (failure: unknown) => failure,
  );
  assert.ok(error instanceof PluginError, String(error));
  assert.deepEqual([error.code, error.method], [code, method]);
  return error;
}

export function csiDriversContract(name: string, makeWorld: MakeCsiWorld): void {
  registrationContract(name, makeWorld);
  volumeContract(name, makeWorld);
  errorContract(name, makeWorld);
}

function registrationContract(name: string, makeWorld: MakeCsiWorld): void {
  test(`${name}: a driver is found after it has registered, and not after it has gone`, async (t) => {
    const { drivers, register, deregister } = await makeWorld(t);
    const registered: string[] = [];
    const unsubscribe = drivers.subscribe((each) => registered.push(each));
    const message = `driver name ${DRIVER} not found in the list of registered CSI drivers`;
    assert.throws(() => drivers.driver(DRIVER), { name: 'CsiDriverNotFoundError', message, driver: DRIVER });
    await register();
    assert.equal(drivers.driver(DRIVER).name, DRIVER);
    assert.deepEqual(registered, [DRIVER]);
    await deregister();
    assert.throws(() => drivers.driver(DRIVER), { message });
    unsubscribe();
    await register();
    assert.deepEqual(registered, [DRIVER]);
  });

  test(`${name}: a driver has the capabilities that it reports`, async (t) => {
    const all: readonly CsiNodeCapability[] = ['GET_VOLUME_STATS', 'STAGE_UNSTAGE_VOLUME', 'VOLUME_MOUNT_GROUP'];
    const { drivers, register } = await makeWorld(t, all);
    await register();
    assert.deepEqual(drivers.driver(DRIVER).capabilities, new Set(all));
  });
}

function volumeContract(name: string, makeWorld: MakeCsiWorld): void {
  test(`${name}: a volume is staged, published, unpublished and unstaged; every call may be repeated`, async (t) => {
    const world = await makeWorld(t);
    await world.register();
    const driver = world.drivers.driver(DRIVER);
    for (const _ of [1, 2]) await driver.stageVolume(stageRequest(), FOREVER);
    for (const _ of [1, 2]) await driver.publishVolume(publishRequest(), FOREVER);
    await driver.publishVolume(publishRequest({ volumeContext: { token: 'new' } }), FOREVER);
    const { volumes, calls } = world.behind;
    assert.deepEqual(
      [volumes['vol-1']?.staged?.path, volumes['vol-1']?.published.map(({ path }) => path)],
      [VOLUME.stagingTargetPath, [TARGET.targetPath]],
    );
    assert.deepEqual(calls[0], {
      method: 'NodeStageVolume',
      volumeId: 'vol-1',
      request: stageRequest(),
      isMigrated: false,
    });
    for (const _ of [1, 2]) await driver.unpublishVolume({ ...TARGET }, FOREVER);
    for (const _ of [1, 2]) await driver.unstageVolume({ ...VOLUME }, FOREVER);
    assert.deepEqual(world.behind.volumes, {});
    assert.equal(calls.length, 9);
  });

  test(`${name}: the order of calls is enforced`, async (t) => {
    const world = await makeWorld(t);
    await world.register();
    const driver = world.drivers.driver(DRIVER);
    await fails(driver.publishVolume(publishRequest(), FOREVER), 'FailedPrecondition', 'NodePublishVolume');
    await driver.stageVolume(stageRequest(), FOREVER);
    const elsewhere = publishRequest({ stagingTargetPath: '/k/other' });
    await fails(driver.publishVolume(elsewhere, FOREVER), 'FailedPrecondition', 'NodePublishVolume');
    await driver.publishVolume(publishRequest(), FOREVER);
    await fails(
      driver.publishVolume(publishRequest({ readonly: true }), FOREVER),
      'AlreadyExists',
      'NodePublishVolume',
    );
    await fails(driver.unstageVolume({ ...VOLUME }, FOREVER), 'FailedPrecondition', 'NodeUnstageVolume');
    const ephemeral = { volumeId: 'inline', volumeContext: { 'csi.storage.k8s.io/ephemeral': 'true' } };
    await driver.publishVolume(publishRequest({ ...ephemeral, stagingTargetPath: '' }), FOREVER);
  });

  test(`${name}: a driver without staging publishes at once`, async (t) => {
    const world = await makeWorld(t, []);
    await world.register();
    const driver = world.drivers.driver(DRIVER);
    await fails(driver.stageVolume(stageRequest(), FOREVER), 'Unimplemented', 'NodeStageVolume');
    await driver.publishVolume(publishRequest({ stagingTargetPath: '' }), FOREVER);
    await fails(driver.volumeStats({ ...statsRequest() }, FOREVER), 'Unimplemented', 'NodeGetVolumeStats');
  });

  test(`${name}: statistics and expansion`, async (t) => {
    const world = await makeWorld(t);
    await world.register();
    const driver = await staged(world);
    await driver.publishVolume(publishRequest(), FOREVER);
    const expand = { ...statsRequest(), capacityRange: { requiredBytes: 2n ** 31n, limitBytes: 0n } };
    const expanded = await driver.expandVolume({ ...expand, volumeCapability: undefined, secrets: {} }, FOREVER);
    assert.equal(expanded.capacityBytes, 2n ** 31n);
    const { usage, volumeCondition } = await driver.volumeStats(statsRequest(), FOREVER);
    assert.deepEqual(usage, [{ total: 2n ** 31n, used: 2n ** 29n, available: 3n * 2n ** 29n, unit: 1 }]);
    assert.deepEqual(volumeCondition, { abnormal: false, message: 'healthy' });
    const elsewhere = { ...statsRequest(), volumePath: '/k/nowhere' };
    await fails(driver.volumeStats(elsewhere, FOREVER), 'NotFound', 'NodeGetVolumeStats');
  });
}

const statsRequest = () => ({ volumeId: 'vol-1', volumePath: TARGET.targetPath, stagingTargetPath: '/k/staging' });

function errorContract(name: string, makeWorld: MakeCsiWorld): void {
  test(`${name}: an error has the driver's code and text, before or after the effect`, async (t) => {
    const world = await makeWorld(t);
    await world.register();
    const driver = world.drivers.driver(DRIVER);
    world.behind.failNext('NodeStageVolume', { kind: 'error', code: 'Internal', message: 'mkfs failed: "ü"' });
    world.behind.failNext('NodeStageVolume', { kind: 'error', code: 'Unavailable', when: 'after' });
    const first = await fails(driver.stageVolume(stageRequest(), FOREVER), 'Internal', 'NodeStageVolume');
    assert.equal(first.message, 'mkfs failed: "ü"');
    assert.deepEqual(world.behind.volumes, {});
    await fails(driver.stageVolume(stageRequest(), FOREVER), 'Unavailable', 'NodeStageVolume');
    assert.deepEqual(Object.keys(world.behind.volumes), ['vol-1']);
    const missing = { ...stageRequest(), volumeId: '' };
    await fails(driver.stageVolume(missing, FOREVER), 'InvalidArgument', 'NodeStageVolume');
  });

  test(`${name}: a call that hangs ends with its signal; the same volume answers Aborted meanwhile`, async (t) => {
    const world = await makeWorld(t);
    await world.register();
    const driver = world.drivers.driver(DRIVER);
    world.behind.failNext('NodeStageVolume', { kind: 'hang' });
    const leaving = new AbortController();
    const hanging = driver.stageVolume(stageRequest(), leaving.signal);
    while (world.behind.calls.length === 0) await new Promise((resolve) => setImmediate(resolve));
    await fails(driver.unstageVolume({ ...VOLUME }, FOREVER), 'Aborted', 'NodeUnstageVolume');
    await driver.publishVolume(
      publishRequest({ volumeId: 'vol-2', volumeContext: { 'csi.storage.k8s.io/ephemeral': 'true' } }),
      FOREVER,
    );
    const reason = new Error('the pod is gone');
    leaving.abort(reason);
    await assert.rejects(hanging, reason);
  });

  test(`${name}: an aborted signal makes no call`, async (t) => {
    const world = await makeWorld(t);
    await world.register();
    const reason = new Error('too late');
    const call = world.drivers.driver(DRIVER).stageVolume(stageRequest(), AbortSignal.abort(reason));
    await assert.rejects(call, reason);
    assert.deepEqual(world.behind.calls, []);
  });
}
