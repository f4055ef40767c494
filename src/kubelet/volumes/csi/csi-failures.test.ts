import assert from 'node:assert/strict';
import test from 'node:test';
import {
  addClaim,
  type CsiMachine,
  callsOf,
  csiMachine,
  leftOver,
  podWithClaims,
} from '../../../../test/agent/csi-machine.ts';
import type { CsiFault, CsiMethod } from '../../../plugins/fake/fake-csi-driver.ts';

const signal = new AbortController().signal;
const METHODS: readonly CsiMethod[] = [
  'NodeStageVolume',
  'NodePublishVolume',
  'NodeUnpublishVolume',
  'NodeUnstageVolume',
];
const FAULTS: readonly CsiFault[] = (['before', 'after'] as const).flatMap((when) =>
  (['Internal', 'DeadlineExceeded', 'Unavailable'] as const).map((code) => ({ kind: 'error', code, when }) as const),
);
const pod = podWithClaims('u1', ['data']);

async function machineWithClaim(): Promise<CsiMachine> {
  const machine = await csiMachine();
  await addClaim(machine, 'data');
  return machine;
}

async function assertNothingLeft(machine: CsiMachine): Promise<void> {
  assert.deepEqual(machine.driver.volumes, {});
  assert.deepEqual(await leftOver(machine), []);
}

/** Repeats the work until it succeeds, and returns how often it failed. */
async function untilDone(work: () => Promise<void>): Promise<number> {
  for (let failures = 0; failures < 5; failures += 1) {
    const isDone = await work().then(
      () => true,
      () => false,
    );
    if (isDone) return failures;
  }
  throw new Error('it does not succeed');
}

for (const method of METHODS) {
  for (const fault of FAULTS) {
    if (fault.kind !== 'error') continue;
    const what = `${method} fails with ${fault.code} ${fault.when} its effect`;

    test(`CSI volumes are retried until they succeed: ${what}`, async () => {
      const machine = await machineWithClaim();
      machine.driver.failNext(method, fault);
      const failures = await untilDone(() => machine.volumes.prepare(pod, signal));
      assert.equal(Object.keys(machine.driver.volumes).length, 1);
      const held = await untilDone(() => machine.volumes.release(pod, signal));
      // A volume that cannot be unstaged does not hold up the end of its pod.
      assert.equal(failures + held, method === 'NodeUnstageVolume' ? 0 : 1);
      await machine.volumes.removeOrphans(signal);
      await assertNothingLeft(machine);
    });

    test(`CSI volumes are removed after a failed attempt: ${what}`, async () => {
      const machine = await machineWithClaim();
      machine.driver.failNext(method, fault);
      await machine.volumes.prepare(pod, signal).catch(() => undefined);
      await untilDone(() => machine.volumes.release(pod, signal));
      await machine.volumes.removeOrphans(signal);
      await assertNothingLeft(machine);
    });

    test(`CSI volumes are continued by a new process: ${what}`, async () => {
      const machine = await machineWithClaim();
      machine.driver.failNext(method, fault);
      await machine.volumes.prepare(pod, signal).catch(() => undefined);
      const second = machine.restart();
      await second.volumes.prepare(pod, signal);
      await second.volumes.release(pod, signal).catch(() => undefined);
      const third = machine.restart();
      await third.volumes.release(pod, signal);
      await third.volumes.removeOrphans(signal);
      await assertNothingLeft(machine);
    });
  }
}

test('after a certain error of staging or publishing nothing is left, and nothing is undone', async () => {
  for (const method of ['NodeStageVolume', 'NodePublishVolume'] as const) {
    const machine = await machineWithClaim();
    machine.driver.failNext(method, { kind: 'error', code: 'InvalidArgument' });
    await assert.rejects(machine.volumes.prepare(pod, signal));
    await machine.volumes.release(pod, signal);
    assert.equal(callsOf(machine).includes('unpublish handle-data u1'), false);
    await assertNothingLeft(machine);
  }
});

test('a call that is aborted may have had an effect', async () => {
  for (const method of ['NodeStageVolume', 'NodePublishVolume'] as const) {
    for (const when of ['before', 'after'] as const) {
      const machine = await machineWithClaim();
      machine.driver.failNext(method, { kind: 'hang', when });
      const abort = new AbortController();
      const preparing = machine.volumes.prepare(pod, abort.signal);
      preparing.catch(() => undefined);
      while (!machine.driver.calls.some((call) => call.method === method)) await machine.host.clock.advance(1);
      abort.abort(new Error('the pod is deleted'));
      await assert.rejects(preparing, { message: 'the pod is deleted' });
      await machine.volumes.release(pod, signal);
      await assertNothingLeft(machine);
    }
  }
});

test('a driver that hangs costs one event, after kubelet’s two minutes', async () => {
  const machine = await machineWithClaim();
  machine.driver.failNext('NodeStageVolume', { kind: 'hang' });
  const preparing = machine.volumes.prepare(pod, signal);
  preparing.catch(() => undefined);
  while (machine.driver.calls.length === 0) await machine.host.clock.advance(1);
  await machine.host.clock.advance(120_000);
  await assert.rejects(preparing, {
    message:
      'MountVolume.MountDevice failed for volume "pv-data" : rpc error: code = DeadlineExceeded desc = context deadline exceeded',
  });
});

test('the driver is missing while a pod ends: its volume stays until it registers', async () => {
  const machine = await machineWithClaim();
  await machine.volumes.prepare(pod, signal);
  machine.drivers.unregister('csi.example.com');
  const message =
    'kubernetes.io/csi: Unmounter.TearDownAt failed to get CSI client: driver name csi.example.com not found in the list of registered CSI drivers';
  await assert.rejects(machine.volumes.release(pod, signal), { message });
  assert.deepEqual(machine.uses.takeWaiting('csi.example.com'), ['u1']);
  machine.drivers.register(machine.driver);
  await machine.volumes.release(pod, signal);
  await assertNothingLeft(machine);
});

test('a mount that a driver leaves behind is unmounted before the volume is unstaged', async () => {
  const machine = await machineWithClaim();
  const { mounts } = machine.host;
  await machine.volumes.prepare(pod, signal);
  const target = '/k/pods/u1/volumes/kubernetes.io~csi/pv-data/mount';
  await mounts.mount({ source: '/driver/handle-data', target, flags: ['bind'] });
  // The driver unmounts one of the two, and cannot remove the mount point.
  await assert.rejects(machine.volumes.release(pod, signal));
  await untilDone(() => machine.volumes.release(pod, signal));
  await assertNothingLeft(machine);
});

test('a volume that is mounted elsewhere is not unstaged', async () => {
  const machine = await machineWithClaim();
  const { mounts, fs } = machine.host;
  await machine.volumes.prepare(pod, signal);
  await fs.makeDirectory('/srv/backup');
  await mounts.mount({ source: '/driver/handle-data', target: '/srv/backup', flags: ['bind'] });
  const staged = (await leftOver(machine)).find((path) => path.includes('globalmount'))?.replace(' (mounted)', '');
  await machine.volumes.release(pod, signal);
  assert.equal(await machine.volumes.orphaned(signal), true);
  await assert.rejects(machine.volumes.removeOrphans(signal), {
    message: `GetDeviceMountRefs check failed: the device mount path "${staged}" is still mounted by other references [/srv/backup]`,
  });
  await mounts.unmount('/srv/backup');
  await machine.volumes.removeOrphans(signal);
  await assertNothingLeft(machine);
});

const broken: Record<string, { readonly text: string | undefined; readonly error: RegExp }> = {
  'is missing': { text: undefined, error: /failed to open volume data file .*: no such file or directory$/ },
  'is not JSON': { text: '{"driverName":', error: /failed to parse volume data file/ },
  'has no handle': { text: '{"driverName":"csi.example.com"}\n', error: /volumeHandle is missing$/ },
};

for (const [what, { text, error }] of Object.entries(broken)) {
  test(`a mounted volume whose vol_data.json ${what} is not removed`, async () => {
    const machine = await machineWithClaim();
    const { fs } = machine.host;
    await machine.volumes.prepare(pod, signal);
    const file = '/k/pods/u1/volumes/kubernetes.io~csi/pv-data/vol_data.json';
    const good = await fs.readText(file);
    if (text === undefined) await fs.remove(file);
    else await fs.writeFile(file, text);
    await assert.rejects(machine.volumes.release(pod, signal), (thrown: Error) => {
      assert.match(thrown.message, /^kubernetes.io\/csi: unmounter failed to load volume data file \[.*\/mount\]: /);
      assert.match(thrown.message, error);
      return true;
    });
    await fs.writeFile(file, good);
    await machine.volumes.release(pod, signal);
    await assertNothingLeft(machine);
  });
}
