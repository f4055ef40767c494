/** The next agent finds what an agent that was killed during a clean-up left behind. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { silentLog } from '../../src/base/log.ts';
import { newWorld, podOf, SETTINGS, startAgent } from './memory-agent.ts';

const places: Record<string, string> = {
  'the folder of a pod': `${SETTINGS.rootDir}/pods/uid-old/volumes`,
  'the logs of a pod': `${SETTINGS.podLogsDir}/default_old_uid-old/main`,
};

for (const [what, path] of Object.entries(places)) {
  test(`an agent removes ${what} of an orphan without other resources`, async () => {
    const world = newWorld();
    await world.host.fs.makeDirectory(path);
    await using it = await startAgent(world);
    it.source.set();
    await world.host.clock.advance(0);
    assert.equal(await world.host.fs.stat(path), undefined);
    assert.deepEqual(it.agent.pods(), []);
  });
}

test('orphans without a known name do not wait for each other', async () => {
  const world = newWorld();
  const volume = (uid: string): string => `${SETTINGS.rootDir}/pods/${uid}/volumes/kubernetes.io~empty-dir/data`;
  for (const uid of ['uid-1', 'uid-2', 'uid-3']) await world.host.fs.makeDirectory(volume(uid));
  await world.host.mounts.mount({ source: 'tmpfs', target: volume('uid-1'), type: 'tmpfs' });
  world.host.mounts.unmount = async () => {
    throw new Error('device is busy');
  };
  const logged: unknown[] = [];
  await using it = await startAgent(world, {}, { ...silentLog, error: (_, fields) => logged.push(fields?.['pod']) });
  it.source.set();
  await world.host.clock.advance(0);
  const left = await world.host.fs.readDirectory(`${SETTINGS.rootDir}/pods`);
  assert.deepEqual(
    left.map(({ name }) => name),
    ['uid-1'],
  );
  assert.ok(logged.includes('with UID uid-1'), String(logged));
});

test('log symlinks of a container that the runtime removed are deleted within two minutes', async () => {
  const world = newWorld();
  const link = '/var/log/containers/old_default_main-0123456789abcdef.log';
  await world.host.fs.makeDirectory(`${SETTINGS.podLogsDir}/default_old_uid-old/main`);
  await world.host.fs.writeFile(`${SETTINGS.podLogsDir}/default_old_uid-old/main/0.log`, 'said');
  await world.host.fs.makeDirectory('/var/log/containers');
  await world.host.fs.symbolicLink(`${SETTINGS.podLogsDir}/default_old_uid-old/main/0.log`, link);
  await using it = await startAgent(world, { containerLogsDir: '/var/log/containers' });
  it.source.set();
  await world.host.clock.advance(120_000);
  assert.equal(await world.host.fs.lstat(link), undefined);
  assert.equal(await world.host.fs.stat(`${SETTINGS.podLogsDir}/default_old_uid-old`), undefined);
});

test('an agent removes the cgroup of an orphan in every QoS class', async () => {
  const world = newWorld();
  for (const parent of ['kubepods', 'kubepods/burstable', 'kubepods/besteffort']) {
    await world.host.cgroups.create(`/${parent}/poduid-old`);
  }
  await using it = await startAgent(world);
  it.source.set();
  await world.host.clock.advance(0);
  assert.deepEqual(await world.host.cgroups.children('/kubepods'), ['besteffort', 'burstable']);
});

test('a rejected pod is shown as rejected after what a previous process left of it is removed', async () => {
  const world = newWorld();
  const sysctls = [{ name: 'net.core.somaxconn', value: '1024' }];
  const pod = podOf('web', { securityContext: { sysctls } });
  const first = await startAgent(world, { allowedUnsafeSysctls: ['net.core.somaxconn'] });
  first.source.set(pod);
  await world.host.clock.advance(1_000);
  await first.stop();
  assert.equal(world.runtime.containers.size, 1);

  await using second = await startAgent(world);
  second.source.set(pod);
  await world.host.clock.advance(60_000);
  assert.equal(world.runtime.containers.size, 0);
  const [report] = second.agent.pods();
  assert.deepEqual([report?.status.phase, report?.status.reason], ['Failed', 'SysctlForbidden']);
});
