import assert from 'node:assert/strict';
import test from 'node:test';
import {
  addClaim,
  type CsiMachine,
  callsOf,
  csiMachine,
  DEFAULT_OBJECT,
  leftOver,
  podWithClaims,
} from '../../../../test/agent/csi-machine.ts';
import type { AttachedVolumes } from '../attached-volumes.ts';

const signal = new AbortController().signal;
const ID = 'kubernetes.io/csi/csi.example.com^handle-data';
const pods = { u1: podWithClaims('u1', ['data']), u2: podWithClaims('u2', ['data']) };
type Step = readonly ['prepare' | 'release' | 'restart', 'u1' | 'u2'];

async function run(machine: CsiMachine, steps: readonly Step[]): Promise<CsiMachine> {
  let agent = machine;
  for (const [verb, uid] of steps) {
    if (verb === 'restart') agent = agent.restart();
    else await agent.volumes[verb](pods[uid], signal);
  }
  return agent;
}

const orders: Record<string, { readonly steps: readonly Step[]; readonly calls: readonly string[] }> = {
  'the first pod ends first': {
    steps: [
      ['prepare', 'u1'],
      ['prepare', 'u2'],
      ['release', 'u1'],
      ['release', 'u2'],
    ],
    calls: ['stage', 'publish u1', 'publish u2', 'unpublish u1', 'unpublish u2', 'unstage'],
  },
  'the second pod ends first': {
    steps: [
      ['prepare', 'u1'],
      ['prepare', 'u2'],
      ['release', 'u2'],
      ['release', 'u1'],
    ],
    calls: ['stage', 'publish u1', 'publish u2', 'unpublish u2', 'unpublish u1', 'unstage'],
  },
  'one after the other': {
    steps: [
      ['prepare', 'u1'],
      ['release', 'u1'],
      ['prepare', 'u2'],
      ['release', 'u2'],
    ],
    calls: ['stage', 'publish u1', 'unpublish u1', 'unstage', 'stage', 'publish u2', 'unpublish u2', 'unstage'],
  },
  'a new process finds both': {
    steps: [
      ['prepare', 'u1'],
      ['prepare', 'u2'],
      ['restart', 'u1'],
      ['release', 'u1'],
      ['release', 'u2'],
    ],
    calls: ['stage', 'publish u1', 'publish u2', 'unpublish u1', 'unpublish u2', 'unstage'],
  },
  'a new process prepares one and ends the other': {
    steps: [
      ['prepare', 'u1'],
      ['prepare', 'u2'],
      ['restart', 'u1'],
      ['prepare', 'u2'],
      ['release', 'u1'],
      ['release', 'u2'],
    ],
    calls: ['stage', 'publish u1', 'publish u2', 'stage', 'publish u2', 'unpublish u1', 'unpublish u2', 'unstage'],
  },
};

for (const [what, { steps, calls }] of Object.entries(orders)) {
  test(`two pods share a CSI volume: ${what}`, async () => {
    const machine = await csiMachine();
    await addClaim(machine, 'data');
    await run(machine, steps);
    assert.deepEqual(
      callsOf(machine).map((call) => call.replace(' handle-data', '')),
      calls,
    );
    assert.deepEqual(await leftOver(machine), []);
  });
}

test('two pods that start and end at once never call the driver at the same time', async () => {
  const machine = await csiMachine();
  await addClaim(machine, 'data');
  for (let round = 0; round < 3; round += 1) {
    await Promise.all(Object.values(pods).map((pod) => machine.volumes.prepare(pod, signal)));
    await Promise.all(Object.values(pods).map((pod) => machine.volumes.release(pod, signal)));
  }
  assert.deepEqual(machine.driver.volumes, {});
  assert.deepEqual(await leftOver(machine), []);
});

test('a volume that a process left staged without a pod is unstaged by the next one', async () => {
  const machine = await csiMachine();
  for (const name of ['data', 'used']) await addClaim(machine, name);
  const [ended, running] = [podWithClaims('u1', ['data']), podWithClaims('u2', ['used'])];
  await machine.volumes.prepare(running, signal);
  await machine.volumes.prepare(ended, signal);
  machine.driver.failNext('NodeUnstageVolume', { kind: 'error', code: 'Internal' });
  await machine.volumes.release(ended, signal);
  const next = machine.restart();
  await next.volumes.removeOrphans(signal);
  assert.deepEqual(Object.keys(machine.driver.volumes), ['handle-used']);
  await next.volumes.release(running, signal);
  assert.deepEqual(await leftOver(machine), []);
});

test('a vol_data.json that cannot be read does not affect other volumes', async () => {
  const machine = await csiMachine();
  for (const name of ['data', 'other']) await addClaim(machine, name);
  await machine.volumes.prepare(pods.u1, signal);
  await machine.host.fs.writeFile('/k/pods/u1/volumes/kubernetes.io~csi/pv-data/vol_data.json', '{');
  const next = machine.restart();
  const other = podWithClaims('u3', ['other']);
  await next.volumes.prepare(other, signal);
  await next.volumes.release(other, signal);
  // The mount of the first pod keeps its volume staged.
  await next.volumes.prepare(pods.u2, signal);
  await next.volumes.release(pods.u2, signal);
  await assert.rejects(next.volumes.removeOrphans(signal), /is still mounted by other references/);
});

/** Records the volumes in use. */
function attachments(isAttached: () => boolean): AttachedVolumes & { readonly log: string[] } {
  const log: string[] = [];
  return {
    log,
    async waitUntilAttached(id, until) {
      log.push(`wait ${id}`);
      if (isAttached()) return { devicePath: '' };
      return new Promise((_, reject) => until.addEventListener('abort', () => reject(until.reason)));
    },
    pending: () => (isAttached() ? undefined : 'notAttached'),
    release(id) {
      if (log.at(-1) !== `release ${id}`) log.push(`release ${id}`); // a repeated one has no effect
    },
  };
}

test('a volume is released for the controller after it was unstaged for its last pod', async () => {
  const attachedVolumes = attachments(() => true);
  const machine = await csiMachine({
    driverObject: { ...DEFAULT_OBJECT, attachRequired: true },
    given: { attachedVolumes },
  });
  await addClaim(machine, 'data');
  await run(machine, [
    ['prepare', 'u1'],
    ['prepare', 'u2'],
    ['release', 'u1'],
  ]);
  assert.deepEqual(attachedVolumes.log, [`wait ${ID}`, `wait ${ID}`]);
  machine.driver.failNext('NodeUnstageVolume', { kind: 'error', code: 'Internal' });
  await machine.volumes.release(pods.u2, signal);
  assert.deepEqual(attachedVolumes.log.length, 2);
  await machine.volumes.removeOrphans(signal);
  assert.deepEqual(attachedVolumes.log.slice(2), [`release ${ID}`]);
});

test('a volume that is attached, but whose folder cannot be made, is released with its pod', async () => {
  const attachedVolumes = attachments(() => true);
  const driverObject = { ...DEFAULT_OBJECT, attachRequired: true };
  const machine = await csiMachine({ driverObject, given: { attachedVolumes } });
  await addClaim(machine, 'data');
  machine.host.fs.errors.failNext('makeDirectoryBeneath', 'ENOSPC', '/k/pods/u1/volumes/kubernetes.io~csi/pv-data');
  await assert.rejects(machine.volumes.prepare(pods.u1, signal), /no space left on device/);
  await machine.volumes.release(pods.u1, signal);
  assert.deepEqual(attachedVolumes.log, [`wait ${ID}`, `release ${ID}`]);
});

test('a volume that was never attached is released with its pod', async () => {
  const attachedVolumes = attachments(() => false);
  const machine = await csiMachine({
    driverObject: { ...DEFAULT_OBJECT, attachRequired: true },
    given: { attachedVolumes },
  });
  await addClaim(machine, 'data');
  const abort = new AbortController();
  const preparing = Object.values(pods).map((pod) => machine.volumes.prepare(pod, abort.signal));
  for (const each of preparing) each.catch(() => undefined);
  while (attachedVolumes.log.length < 2) await machine.host.clock.advance(1);
  abort.abort(new Error('the pods are deleted'));
  for (const each of preparing) await assert.rejects(each, { message: 'the pods are deleted' });
  await machine.volumes.release(pods.u1, signal);
  assert.deepEqual(attachedVolumes.log.slice(2), []);
  await machine.volumes.release(pods.u2, signal);
  assert.deepEqual(attachedVolumes.log.slice(2), [`release ${ID}`]);
  assert.deepEqual(callsOf(machine), []);
});

test('a pod takes over a volume that could not be unstaged', async () => {
  const machine = await csiMachine();
  await addClaim(machine, 'data');
  await machine.volumes.prepare(pods.u1, signal);
  machine.driver.failNext('NodeUnstageVolume', { kind: 'error', code: 'Internal' });
  await machine.volumes.release(pods.u1, signal);
  await machine.volumes.prepare(pods.u2, signal);
  await machine.volumes.removeOrphans(signal);
  assert.equal(Object.keys(machine.driver.volumes).length, 1);
  await machine.volumes.release(pods.u2, signal);
  assert.deepEqual(machine.driver.volumes, {});
  assert.deepEqual(await leftOver(machine), []);
});
