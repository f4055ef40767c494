import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { silentLog } from '../../../src/base/log.ts';
import { VirtualClock } from '../../../src/host/fake/virtual-clock.ts';
import { linuxClock } from '../../../src/host/linux/process/linux-clock.ts';
import type { CsiNodeCapability } from '../../../src/plugins/csi/csi-drivers.ts';
import { CsiRegistration, NO_CSI_NODE_RECORD } from '../../../src/plugins/csi/csi-registration.ts';
import { FakeCsiDriver } from '../../../src/plugins/fake/fake-csi-driver.ts';
import { FakeCsiDrivers } from '../../../src/plugins/fake/fake-csi-drivers.ts';
import { NodeStageVolumeRequest } from '../../../src/plugins/generated/csi-v1.ts';
import { pluginChannel } from '../../../src/plugins/plugin-channel.ts';
import type { PluginRegistration } from '../../../src/plugins/registration/plugin-handler.ts';
import { startTestCsiDriver } from '../../csi/test-csi-driver.ts';
import { temporaryFolder } from '../host/temporary-folder.ts';
import { type CsiWorld, csiDriversContract, DRIVER } from './csi-drivers-contract.ts';

const FOREVER = new AbortController().signal;
const NO_EFFECTS = {
  stage: async () => {},
  unstage: async () => {},
  publish: async () => {},
  unpublish: async () => {},
};

csiDriversContract('memory', async (_t, capabilities) => {
  const behind = new FakeCsiDriver({ name: DRIVER, clock: linuxClock, capabilities });
  const drivers = new FakeCsiDrivers();
  return {
    drivers,
    behind,
    register: async () => drivers.register(behind),
    deregister: async () => drivers.unregister(DRIVER),
  };
});
csiDriversContract('grpc', grpcWorld);

test('grpc: calls are published with their volume: of a migrated type, or of the driver itself', async (t) => {
  const world = await grpcWorld(t);
  await world.register();
  const published: unknown[] = [];
  const unsubscribe = pluginChannel.subscribe((message) => {
    if (message.kind === 'called') published.push([message.plugin, message.path, message.code, message.isMigrated]);
  });
  t.after(unsubscribe);
  const driver = world.drivers.driver(DRIVER);
  const request = NodeStageVolumeRequest.fromPartial({ volumeId: 'vol-1' });
  for (const isMigrated of [true, undefined])
    await assert.rejects(driver.stageVolume(request, FOREVER, isMigrated), { code: 'InvalidArgument' });
  const call = [DRIVER, '/csi.v1.Node/NodeStageVolume', 'InvalidArgument'];
  assert.deepEqual(published, [
    [...call, true],
    [...call, false],
  ]);
});

async function grpcWorld(t: TestContext, capabilities?: readonly CsiNodeCapability[]): Promise<CsiWorld> {
  const rootDir = await temporaryFolder(t);
  const drivers = new CsiRegistration({ clock: linuxClock, log: silentLog, record: NO_CSI_NODE_RECORD });
  const options = { name: DRIVER, rootDir, dataDir: `${rootDir}/data`, effects: NO_EFFECTS, capabilities };
  const served = await startTestCsiDriver(options);
  let registration: PluginRegistration | undefined;
  const deregister = async (): Promise<void> => {
    await registration?.deregister(FOREVER);
    registration = undefined;
  };
  t.after(async () => {
    await deregister();
    served.stop();
  });
  return {
    drivers,
    behind: served.driver,
    async register() {
      const endpoint = `${rootDir}/plugins/${DRIVER}/csi.sock`;
      registration = await drivers.register({ name: DRIVER, endpoint, supportedVersions: ['1.0.0'] }, FOREVER);
    },
    deregister,
  };
}

test('a hanging call ends after two minutes', async () => {
  const clock = new VirtualClock();
  const driver = new FakeCsiDriver({ name: DRIVER, clock });
  driver.failNext('NodeUnpublishVolume', { kind: 'hang', when: 'after' });
  const call = driver.unpublishVolume({ volumeId: 'vol-1', targetPath: '/t' }, FOREVER);
  const failure = assert.rejects(call, { code: 'DeadlineExceeded', message: 'context deadline exceeded' });
  await sleep(0);
  await clock.advance(120_000);
  await failure;
});
