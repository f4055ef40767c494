/** Block volumes as kubelet passes them to a runtime: a link below the pod's directory. */
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, describe, test } from 'node:test';
import { embeddedSkipReason } from './runtime-fixture.ts';
import { type Scene, sceneAround, WAITS } from './runtime-pod.ts';

const MIB = 2 ** 20;

function skipReason(): string | false {
  return embeddedSkipReason() || (existsSync('/dev/loop-control') ? false : 'needs loop devices');
}

describe('block devices of containers', { skip: skipReason() }, () => {
  let scene: Scene;
  let device = '';
  let image = '';
  let link = '';
  sceneAround(async (started) => {
    scene = started;
    image = join(scene.runtime.folder, 'disk.img');
    writeFileSync(image, Buffer.alloc(MIB, 'a'));
    device = execFileSync('losetup', ['--find', '--show', image], { encoding: 'utf8' }).trim();
    const folder = join(scene.runtime.folder, 'volumeDevices');
    mkdirSync(folder);
    symlinkSync(device, join(folder, 'global'));
    link = join(folder, 'pv-1');
    symlinkSync(join(folder, 'global'), link);
  });
  after(() => {
    if (device !== '') execFileSync('losetup', ['--detach', device]);
    rmSync(image, { force: true });
  });

  test('a container reads and writes the device behind a link', async (t) => {
    const pod = await scene.runPod();
    t.after(pod.remove);
    const devices = [{ hostPath: link, containerPath: '/dev/xvda', permissions: 'mrw' }];
    const id = await pod.startReady(WAITS, { devices });
    const { rdev } = statSync(device);
    const numbers = await scene.ask(id, 'test -b /dev/xvda && stat -c "%t %T" /dev/xvda');
    assert.equal(numbers, `${((rdev >> 8) & 0xf_ff).toString(16)} ${(rdev & 0xff).toString(16)}`);
    assert.equal(await scene.ask(id, 'dd if=/dev/xvda bs=4 count=1 2>/dev/null'), 'aaaa');
    await scene.ask(id, 'printf written | dd of=/dev/xvda bs=4096 conv=notrunc,fsync 2>/dev/null');
    execFileSync('blockdev', ['--flushbufs', device]);
    assert.equal(readFileSync(image).subarray(0, 7).toString(), 'written');
  });

  test('a container cannot write a read-only device, and has no other device', async (t) => {
    const pod = await scene.runPod();
    t.after(pod.remove);
    const devices = [{ hostPath: link, containerPath: '/dev/xvda', permissions: 'r' }];
    const id = await pod.startReady(WAITS, { devices });
    await scene.ask(id, 'dd if=/dev/xvda of=/dev/null bs=4096 count=1 2>/dev/null');
    const denied = 'dd if=/dev/zero of=/dev/xvda bs=4096 count=1 2>&1; true';
    assert.match(await scene.ask(id, denied), /Operation not permitted/);
    const { rdev } = statSync(device);
    const other = `mknod /tmp/other b ${(rdev >> 8) & 0xf_ff} ${(rdev + 1) & 0xff}; cat /tmp/other 2>&1 | head -c 100; true`;
    assert.match(await scene.ask(id, other), /Operation not permitted/);
  });

  test('a link to a device that is gone fails the creation of the container', async (t) => {
    const pod = await scene.runPod();
    t.after(pod.remove);
    const dangling = join(scene.runtime.folder, 'volumeDevices', 'pv-2');
    symlinkSync('/dev/not-there', dangling);
    const devices = [{ hostPath: dangling, containerPath: '/dev/xvda', permissions: 'mrw' }];
    await assert.rejects(pod.create(WAITS, { devices }), new RegExp(`no device at ${dangling}`));
  });
});
