import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import type { Pod, PodStatus, ResourceClaim } from '../../api/generated/core-v1.ts';
import { createMemoryHost } from '../../host/fake/memory-host.ts';
import { FakeDraDriver } from '../../plugins/fake/fake-dra-driver.ts';
import { FakeDraDrivers } from '../../plugins/fake/fake-dra-drivers.ts';
import { PluginError } from '../../plugins/plugin-error.ts';
import { ApiError } from '../api-client/api-server.ts';
import { createMemoryApiServer } from '../api-client/fake/memory-api-server.ts';
import { podCauseOf } from '../pod/pod-cause.ts';
import { examplePod } from '../sync/config/pod.fixture.ts';
import { ClaimCache } from './claim-cache.ts';
import { decodeClaims } from './dra-checkpoint.ts';
import { DraManager } from './dra-manager.ts';

const ROOT = '/k';
const FILE = `${ROOT}/dra_manager_state`;
const GPU = 'gpu.example.com';
const NIC = 'nic.example.com';
const never = new AbortController().signal;
const UNAVAILABLE = new PluginError('Unavailable', 'connection refused', 'NodePrepareResources');

interface ClaimPlan {
  readonly drivers?: readonly string[];
  readonly reservedFor?: readonly string[];
  readonly owner?: string;
  readonly allocated?: boolean;
}

async function machine() {
  const host = createMemoryHost();
  const { clock, random, fs } = host;
  await fs.makeDirectory(ROOT);
  const api = createMemoryApiServer({ clock, random });
  const [gpu, nic] = [new FakeDraDriver(GPU), new FakeDraDriver(NIC)];
  const drivers = new FakeDraDrivers(gpu, nic);
  const gates = { extendedResources: true };
  const start = async () => {
    const cache = await ClaimCache.read(ROOT, fs);
    return { cache, manager: new DraManager({ clock: { monotonic: () => 0 }, api, drivers, cache, gates }) };
  };
  return {
    ...(await start()),
    host,
    api,
    gpu,
    nic,
    drivers,
    restart: start,
    onDisk: async () => decodeClaims(await fs.readText(FILE)),
    async createClaim(name: string, plan: ClaimPlan = {}): Promise<ResourceClaim> {
      const { drivers: of = [GPU], reservedFor = ['u1', 'u2'], owner, allocated = true } = plan;
      const ownerReferences = owner
        ? [{ apiVersion: 'v1', kind: 'Pod', name: 'hello', uid: owner, controller: true }]
        : [];
      const key = { resource: 'resourceclaims', namespace: 'default', name } as const;
      await api.create(key, { metadata: { name, ownerReferences }, spec: {} }, never);
      const results = of.map((driver, index) => ({ driver, pool: 'pool', device: `d${index}`, request: 'r' }));
      const status = {
        reservedFor: reservedFor.map((uid) => ({ resource: 'pods', name: 'p', uid })),
        ...(allocated && { allocation: { devices: { results } } }),
      };
      return api.patch(key, { status }, { subresource: 'status' }, never);
    },
  };
}

function podOf(claims: readonly string[], uid = 'u1', status: PodStatus = {}): Pod {
  const resourceClaims = claims.map((name) => ({ name, resourceClaimName: name }));
  return { ...examplePod({ metadata: { uid }, spec: { resourceClaims } }), status };
}

suite('prepare', () => {
  test('calls each driver once for all claims, and records their devices', async () => {
    const it = await machine();
    await it.createClaim('a', { drivers: [GPU, NIC] });
    await it.createClaim('b');
    const pod = podOf(['a', 'b']);
    await it.manager.prepare(pod, never);
    assert.deepEqual(it.gpu.calls, [{ method: 'prepare', claims: ['a', 'b'] }]);
    assert.deepEqual(it.nic.calls, [{ method: 'prepare', claims: ['a'] }]);
    const [a, b] = await it.onDisk();
    assert.deepEqual([...(a?.podUids ?? []), ...(b?.podUids ?? [])], ['u1', 'u1']);
    assert.deepEqual(a?.devices.get(NIC)?.[0]?.cdiDeviceIds, [`${NIC}/device=a`]);
    assert.ok(it.manager.hasClaims(pod));
  });

  test('calls no driver again for a claim that is prepared, in this process', async () => {
    const it = await machine();
    await it.createClaim('a');
    await it.manager.prepare(podOf(['a']), never);
    await it.manager.prepare(podOf(['a'], 'u2'), never);
    assert.equal(it.gpu.calls.length, 1);
    const { manager } = await it.restart();
    await manager.prepare(podOf(['a']), never);
    assert.equal(it.gpu.calls.length, 2);
    assert.deepEqual([...((await it.onDisk())[0]?.podUids ?? [])], ['u1', 'u2']);
  });

  test('two pods that share a claim prepare it once, also at the same time', async () => {
    const it = await machine();
    await it.createClaim('a');
    await it.createClaim('b');
    await Promise.all([
      it.manager.prepare(podOf(['a', 'b']), never),
      it.manager.prepare(podOf(['b', 'a'], 'u2'), never),
    ]);
    assert.deepEqual(it.gpu.calls, [{ method: 'prepare', claims: ['a', 'b'] }]);
  });

  test('a claim of a template is found by the status of the pod', async () => {
    const it = await machine();
    await it.createClaim('hello-gpu-x7x2k', { owner: 'u1' });
    const spec = { resourceClaims: [{ name: 'gpu', resourceClaimTemplateName: 't' }] };
    const resourceClaimStatuses = [{ name: 'gpu', resourceClaimName: 'hello-gpu-x7x2k' }];
    await it.manager.prepare({ ...examplePod({ spec }), status: { resourceClaimStatuses } }, never);
    assert.deepEqual(it.gpu.calls, [{ method: 'prepare', claims: ['hello-gpu-x7x2k'] }]);
    // None was created deliberately.
    const none = { resourceClaimStatuses: [{ name: 'gpu' }] };
    await it.manager.prepare({ ...examplePod({ spec, metadata: { uid: 'u9' } }), status: none }, never);
    assert.equal(it.gpu.calls.length, 1);
  });

  test('the claim of extended resources is prepared', async () => {
    const it = await machine();
    await it.createClaim('extended');
    const extendedResourceClaimStatus = { resourceClaimName: 'extended', requestMappings: [] };
    await it.manager.prepare(podOf([], 'u1', { extendedResourceClaimStatus }), never);
    assert.deepEqual(it.gpu.calls, [{ method: 'prepare', claims: ['extended'] }]);
  });
});

suite('a pod whose claims cannot be used leaves nothing behind', () => {
  const template = (status: PodStatus = {}): Pod => ({
    ...examplePod({ spec: { resourceClaims: [{ name: 'gpu', resourceClaimTemplateName: 't' }] } }),
    status,
  });
  const cases: Record<string, { pod?: Pod; plan?: ClaimPlan; message: string; cause?: object; missing?: boolean }> = {
    'a claim that does not exist': {
      pod: podOf(['other']),
      message: 'fetch ResourceClaim other: resourceclaims.resource.k8s.io "other" not found',
      cause: { kind: 'resourceClaimNotReady', claim: 'other', why: 'notFound' },
    },
    'a claim that is not allocated': {
      plan: { allocated: false },
      message: 'ResourceClaim gpu: not allocated',
      cause: { kind: 'resourceClaimNotReady', claim: 'gpu', why: 'notAllocated' },
    },
    'a claim of a template that is not created': {
      pod: template(),
      message: 'pod "default/hello": ResourceClaim not created yet',
      cause: { kind: 'resourceClaimNotReady', claim: 'gpu', why: 'notCreated' },
    },
    'a claim that another pod owns': {
      pod: template({ resourceClaimStatuses: [{ name: 'gpu', resourceClaimName: 'gpu' }] }),
      plan: { owner: 'u7' },
      message: 'ResourceClaim default/gpu was not created for Pod default/hello (Pod is not owner)',
    },
    'a reference without a name': {
      pod: examplePod({ spec: { resourceClaims: [{ name: 'gpu' }] } }),
      message: 'pod "default/hello", spec.resourceClaim "gpu": none of the supported fields are set',
    },
    'a driver that is not registered': {
      plan: { drivers: [GPU, 'fpga.example.com'] },
      message: 'DRA driver fpga.example.com is not registered',
      cause: { kind: 'draDriverNotRegistered', driver: 'fpga.example.com' },
    },
    'a result without a driver': { plan: { drivers: [''] }, message: 'DRA driver name is empty' },
  };
  for (const [what, { pod = podOf(['gpu']), plan, message, cause }] of Object.entries(cases)) {
    test(what, async () => {
      const it = await machine();
      await it.createClaim('gpu', plan);
      const error = await it.manager.prepare(pod, never).catch((reason: unknown) => reason);
      assert.equal((error as Error).message, `prepare dynamic resources: ${message}`);
      if (cause) assert.deepEqual(podCauseOf(error), cause);
      assert.deepEqual([it.gpu.calls, it.cache.all], [[], []]);
      await it.manager.unprepare('u1', never);
      assert.deepEqual(it.gpu.calls, []);
    });
  }

  test('a claim that is reserved for other pods', async () => {
    const it = await machine();
    const { metadata } = await it.createClaim('gpu', { reservedFor: ['u2'] });
    const message = `prepare dynamic resources: pod hello (u1) is not allowed to use ResourceClaim gpu (${metadata.uid})`;
    await it.manager.prepare(podOf(['gpu'], 'u2'), never);
    await assert.rejects(it.manager.prepare(podOf(['gpu']), never), { message });
    // kubelet would unprepare the claim of the other pod here.
    await it.manager.unprepare('u1', never);
    assert.deepEqual(it.gpu.calls, [{ method: 'prepare', claims: ['gpu'] }]);
  });

  test('an error of the API server', async () => {
    const it = await machine();
    await it.createClaim('gpu');
    it.api.faults.next('get', { kind: 'before', error: new ApiError('Forbidden', 'no relationship found') });
    const message = 'prepare dynamic resources: fetch ResourceClaim gpu: no relationship found';
    await assert.rejects(it.manager.prepare(podOf(['gpu']), never), { message });
    assert.deepEqual(it.cache.all, []);
  });
});

suite('a driver that fails', () => {
  const cases = {
    'an error of the call': [
      { kind: 'error', error: UNAVAILABLE },
      'NodePrepareResources: rpc error: code = Unavailable desc = connection refused',
    ],
    'a lost answer': [
      { kind: 'error', error: UNAVAILABLE, after: true },
      'NodePrepareResources: rpc error: code = Unavailable desc = connection refused',
    ],
    'an error of a claim': [
      { kind: 'claimError', error: 'out of gpus' },
      'NodePrepareResources failed for ResourceClaim a: out of gpus',
    ],
    'an answer for a claim that was not asked for': [
      { kind: 'unknownClaim', uid: 'x' },
      'NodePrepareResources returned result for unknown claim UID x',
    ],
    'an answer without one of the claims': [{ kind: 'skip' }, 'NodePrepareResources skipped 1 ResourceClaims'],
  } as const;
  for (const [what, [fault, message]] of Object.entries(cases)) {
    test(`${what}: the claim is kept, and prepared by the next attempt or unprepared`, async () => {
      const it = await machine();
      await it.createClaim('a');
      await it.createClaim('b');
      it.gpu.failNext(fault);
      const pod = podOf(['a', 'b']);
      await assert.rejects(it.manager.prepare(pod, never), { message: `prepare dynamic resources: ${message}` });
      assert.equal((await it.onDisk()).length, 2);
      assert.ok(it.manager.mightNeedUnprepare('u1'));
      await it.manager.prepare(pod, never);
      assert.deepEqual(it.cache.get('default/a')?.devices.get(GPU)?.length, 1);
      await it.manager.unprepare('u1', never);
      assert.deepEqual([it.gpu.prepared.size, await it.onDisk()], [0, []]);
    });
  }

  test('the devices of a driver that answers twice are not doubled', async () => {
    const it = await machine();
    await it.createClaim('a', { drivers: [GPU, NIC] });
    it.nic.failNext({ kind: 'error', error: UNAVAILABLE });
    await assert.rejects(it.manager.prepare(podOf(['a']), never));
    await it.manager.prepare(podOf(['a']), never);
    assert.equal(it.cache.get('default/a')?.devices.get(GPU)?.length, 1);
  });

  test('one that hangs delays only the pods with claims of it, and the end of the pod ends the call', async () => {
    const it = await machine();
    await it.createClaim('a');
    await it.createClaim('n', { drivers: [NIC] });
    it.gpu.failNext({ kind: 'hang' });
    const ending = new AbortController();
    const hung = it.manager.prepare(podOf(['a']), ending.signal);
    await it.manager.prepare(podOf(['n'], 'u2'), never);
    ending.abort(new Error('the pod is to end'));
    await assert.rejects(hung, { message: 'the pod is to end' });
    await it.manager.unprepare('u1', never);
    assert.deepEqual(it.gpu.calls.at(-1), { method: 'unprepare', claims: ['a'] });
  });

  test('a checkpoint that cannot be written: no driver is called', async () => {
    const it = await machine();
    await it.createClaim('a');
    await it.host.fs.makeDirectory(FILE);
    await assert.rejects(it.manager.prepare(podOf(['a']), never), /: checkpoint ResourceClaim cache: /);
    assert.deepEqual(it.gpu.calls, []);
  });
});

suite('unprepare', () => {
  test('calls the drivers after the last pod of a claim', async () => {
    const it = await machine();
    await it.createClaim('a', { drivers: [GPU, NIC] });
    await it.manager.prepare(podOf(['a']), never);
    await it.manager.prepare(podOf(['a'], 'u2'), never);
    await it.manager.unprepare('u1', never);
    assert.equal(it.gpu.calls.length, 1);
    assert.deepEqual([...((await it.onDisk())[0]?.podUids ?? [])], ['u2']);
    await it.manager.unprepare('u2', never);
    assert.deepEqual(it.gpu.calls.at(-1), { method: 'unprepare', claims: ['a'] });
    assert.deepEqual(it.nic.calls.at(-1), { method: 'unprepare', claims: ['a'] });
    assert.deepEqual(await it.onDisk(), []);
    await it.manager.unprepare('u2', never);
    assert.equal(it.gpu.calls.length, 2);
  });

  test('works for a pod that ended while the agent was down', async () => {
    const it = await machine();
    await it.createClaim('a');
    await it.manager.prepare(podOf(['a']), never);
    const { manager } = await it.restart();
    assert.ok(manager.mightNeedUnprepare('u1'));
    await manager.unprepare('u1', never);
    assert.deepEqual([it.gpu.prepared.size, await it.onDisk()], [0, []]);
  });

  test('waits for a driver that is missing, and keeps the claim', async () => {
    const it = await machine();
    await it.createClaim('a');
    await it.manager.prepare(podOf(['a']), never);
    it.drivers.unregister(GPU);
    const message = `unprepare dynamic resources: DRA driver ${GPU} is not registered`;
    await assert.rejects(it.manager.unprepare('u1', never), { message });
    assert.deepEqual(it.manager.takeWaiting(GPU), ['u1']);
    assert.deepEqual(it.manager.takeWaiting(GPU), []);
    it.drivers.register(it.gpu);
    await it.manager.unprepare('u1', never);
    assert.deepEqual(await it.onDisk(), []);
  });

  test('a claim that one of two drivers has unprepared is prepared again for the next pod', async () => {
    const it = await machine();
    await it.createClaim('a', { drivers: [GPU, NIC] });
    await it.manager.prepare(podOf(['a']), never);
    it.nic.failNext({ kind: 'claimError', error: 'busy' });
    await assert.rejects(it.manager.unprepare('u1', never), {
      message: 'unprepare dynamic resources: NodeUnprepareResources failed for ResourceClaim a: busy',
    });
    await it.manager.prepare(podOf(['a'], 'u2'), never);
    assert.equal(it.gpu.prepared.size, 1);
  });

  test('a new claim of the same name waits until the old one is unprepared', async () => {
    const it = await machine();
    const { metadata } = await it.createClaim('a');
    await it.manager.prepare(podOf(['a']), never);
    await it.api.delete({ resource: 'resourceclaims', namespace: 'default', name: 'a' }, {}, never);
    await it.createClaim('a');
    const still = `old ResourceClaim with same name a and different UID ${metadata.uid} still exists`;
    const message = `prepare dynamic resources: ${still} (previous pod force-deleted?!)`;
    await assert.rejects(it.manager.prepare(podOf(['a'], 'u2'), never), { message });
    await it.manager.unprepare('u1', never);
    await it.manager.prepare(podOf(['a'], 'u2'), never);
    assert.equal(it.gpu.prepared.size, 1);
  });
});

test('a corrupt checkpoint stops the start with what to do', async () => {
  const it = await machine();
  await it.host.fs.writeFile(FILE, '{"Data":"x","Checksum":1}');
  await assert.rejects(it.restart(), {
    name: 'CheckpointError',
    message:
      'create ResourceClaim cache: failed to get checkpoint dra_manager_state: checkpoint is corrupted; ' +
      'please drain this node and delete the DRA state file "/k/dra_manager_state" before restarting',
  });
});
