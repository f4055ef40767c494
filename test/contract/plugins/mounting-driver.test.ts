/** The CSI driver of integration tests: that it mounts, and that its process survives its own crashes. */
import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { type TestContext, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { silentLog } from '../../../src/base/log.ts';
import { createMemoryHost } from '../../../src/host/fake/memory-host.ts';
import { linuxMounts } from '../../../src/host/linux/mount/linux-mounts.ts';
import { linuxClock } from '../../../src/host/linux/process/linux-clock.ts';
import { CsiRegistration, NO_CSI_NODE_RECORD } from '../../../src/plugins/csi/csi-registration.ts';
import { FakeCsiDriver } from '../../../src/plugins/fake/fake-csi-driver.ts';
import { mountCsiVolumes } from '../../../src/plugins/fake/mount-csi-volumes.ts';
import { NodePublishVolumeRequest, NodeStageVolumeRequest } from '../../../src/plugins/generated/csi-v1.ts';
import { linuxMountsWorld } from '../host/mounts-world.ts';
import { needsMounts } from '../host/temporary-folder.ts';

const FOREVER = new AbortController().signal;
const NAME = 'disk.csi.example.com';
const CAPABILITY = { mount: { fsType: '', volumeMountGroup: '' }, accessMode: { mode: 1 } } as const;
const BLOCK = { block: {}, accessMode: { mode: 1 } } as const;

test('in memory: volumes are mounted, and their data outlives the mounts', async () => {
  const { fs, mounts, clock } = createMemoryHost();
  const driver = new FakeCsiDriver({ name: NAME, clock, effects: mountCsiVolumes({ fs, mounts, dataDir: '/data' }) });
  const targets = async (): Promise<string[]> =>
    (await mounts.list()).map(({ target }) => target).filter((target) => target.startsWith('/k'));
  const ids = { volumeId: 'vol/1', stagingTargetPath: '/k/globalmount' };
  await fs.makeDirectory('/k/pod');
  for (const round of [1, 2]) {
    await driver.stageVolume(NodeStageVolumeRequest.fromPartial({ ...ids, volumeCapability: CAPABILITY }), FOREVER);
    const target = { volumeId: 'vol/1', targetPath: '/k/pod/mount' };
    const request = { ...ids, ...target, volumeCapability: CAPABILITY };
    await driver.publishVolume(NodePublishVolumeRequest.fromPartial(request), FOREVER);
    assert.deepEqual(await targets(), ['/k/globalmount', '/k/pod/mount']);
    if (round === 1) await fs.writeFile('/k/pod/mount/file', 'data');
    assert.equal(await fs.readText('/k/globalmount/file'), 'data');
    await driver.unpublishVolume(target, FOREVER);
    assert.equal(await fs.stat('/k/pod/mount'), undefined);
    await driver.unstageVolume(ids, FOREVER);
    assert.deepEqual(await targets(), []);
  }
});

interface DriverProcess {
  readonly root: string;
  readonly data: string;
  start(): Promise<ChildProcess>;
}

async function driverProcess(t: TestContext): Promise<DriverProcess> {
  const running: ChildProcess[] = [];
  const { root } = await linuxMountsWorld(t);
  const data = `${root}/data`;
  t.after(() => {
    for (const child of running) child.kill('SIGKILL');
  });
  return {
    root,
    data,
    async start() {
      const script = new URL('../../csi/test-csi-driver.ts', import.meta.url).pathname;
      const args = [script, '--name', NAME, '--root', root, '--data', data];
      const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] });
      running.push(child);
      await new Promise((resolve) => child.stdout?.once('data', resolve));
      return child;
    },
  };
}

test('a driver process mounts, crashes as asked, and knows its volumes afterwards', {
  skip: needsMounts,
}, async (t) => {
  const { root, data, start } = await driverProcess(t);
  let child = await start();
  const drivers = new CsiRegistration({ clock: linuxClock, log: silentLog, record: NO_CSI_NODE_RECORD });
  const endpoint = `${root}/plugins/${NAME}/csi.sock`;
  const registration = await drivers.register({ name: NAME, endpoint, supportedVersions: ['1.0'] }, FOREVER);
  t.after(() => registration.close());
  const driver = drivers.driver(NAME);
  const ids = { volumeId: 'vol-1', stagingTargetPath: `${root}/globalmount` };
  const stage = NodeStageVolumeRequest.fromPartial({ ...ids, volumeCapability: CAPABILITY });
  const target = { volumeId: 'vol-1', targetPath: `${root}/pod/mount` };
  mkdirSync(`${root}/pod`);
  const isMounted = async (path: string): Promise<boolean> =>
    (await linuxMounts.list()).some((each) => each.target === path);

  writeFileSync(`${data}/faults.json`, '[{"method": "NodeStageVolume", "fault": {"kind": "crash", "when": "after"}}]');
  const exited = new Promise((resolve) => child.once('exit', (_code, signal) => resolve(signal)));
  await assert.rejects(driver.stageVolume(stage, FOREVER), { code: 'Unavailable' });
  assert.equal(await exited, 'SIGKILL');
  assert.ok(await isMounted(ids.stagingTargetPath));
  child = await start();
  await eventually(() => driver.stageVolume(stage, FOREVER));
  await driver.publishVolume(
    NodePublishVolumeRequest.fromPartial({ ...ids, ...target, volumeCapability: CAPABILITY, readonly: true }),
    FOREVER,
  );
  writeFileSync(`${ids.stagingTargetPath}/file`, 'data');
  assert.equal(readFileSync(`${target.targetPath}/file`, 'utf8'), 'data');
  assert.throws(() => writeFileSync(`${target.targetPath}/file`, ''), { code: 'EROFS' });
  await driver.unpublishVolume(target, FOREVER);
  assert.ok(!existsSync(target.targetPath));

  const device = { ...ids, ...target, volumeId: 'block-1', stagingTargetPath: `${root}/staging-block` };
  await driver.stageVolume(NodeStageVolumeRequest.fromPartial({ ...device, volumeCapability: BLOCK }), FOREVER);
  await driver.publishVolume(NodePublishVolumeRequest.fromPartial({ ...device, volumeCapability: BLOCK }), FOREVER);
  assert.equal(readFileSync(target.targetPath).length, 1024 ** 2);
  await driver.unpublishVolume({ ...target, volumeId: 'block-1' }, FOREVER);
  await driver.unstageVolume(ids, FOREVER);
  assert.ok(!(await isMounted(ids.stagingTargetPath)));
  const calls = readFileSync(`${data}/calls.jsonl`, 'utf8').trim().split('\n');
  assert.equal(JSON.parse(calls[0] ?? '').method, 'NodeStageVolume');
  const ended = new Promise((resolve) => child.once('exit', resolve));
  child.kill('SIGTERM');
  assert.equal(await ended, 0);
});

/** The client may still be in the back-off of its reconnect. */
async function eventually(call: () => Promise<void>): Promise<void> {
  for (let attempt = 0; ; attempt++) {
    try {
      return await call();
    } catch (error) {
      if (attempt === 50) throw error;
      await sleep(100);
    }
  }
}
