/** Pods with resource claims: the whole agent on virtual time, with a driver in memory. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Pod } from '../../src/api/generated/core-v1.ts';
import { buildAgent } from '../../src/app/build-agent.ts';
import { silentLog } from '../../src/base/log.ts';
import { decodeClaims } from '../../src/kubelet/dra/dra-checkpoint.ts';
import { why } from '../../src/kubelet/explain/why.ts';
import { createApiSource } from '../../src/kubelet/sources/api-source.ts';
import { FakeDraDriver } from '../../src/plugins/fake/fake-dra-driver.ts';
import { FakeDraDrivers } from '../../src/plugins/fake/fake-dra-drivers.ts';
import { createPod, FOREVER, newClusterWorld, podKey, podOf, SETTINGS } from './memory-agent.ts';

const AT_ONCE_MS = 50;
const DRIVER = 'gpu.example.com';
const CLAIM = { resource: 'resourceclaims', namespace: 'default', name: 'gpu' } as const;

async function startWithDrivers(world?: Awaited<ReturnType<typeof newClusterWorld>>) {
  const { host, runtime, apiServer } = world ?? (await newClusterWorld());
  const { clock, random } = host;
  const draDrivers = new FakeDraDrivers();
  const end = new AbortController();
  const { nodeName } = SETTINGS;
  const source = createApiSource({ nodeName }, { api: apiServer, clock, random, log: silentLog });
  const parts = { host, cri: runtime.cri, runtimeEvents: undefined, sources: [source], apiServer, draDrivers };
  const agent = await buildAgent({ ...parts, settings: SETTINGS, log: silentLog }, FOREVER);
  const running = agent.run(end.signal);
  const stop = async (): Promise<void> => {
    end.abort(new Error('stopped'));
    await clock.runUntil(running);
  };
  const explain = (): string => {
    const [report] = agent.pods();
    return report ? why(report, clock.now()).join(' ') : '';
  };
  const onDisk = async () => decodeClaims(await host.fs.readText(`${SETTINGS.rootDir}/dra_manager_state`));
  const apiPhase = async () => (await apiServer.direct.get(podKey('web'), FOREVER)).status?.phase;
  return { host, runtime, apiServer, agent, draDrivers, explain, onDisk, apiPhase, stop, [Symbol.asyncDispose]: stop };
}

function podWithClaim(more: Partial<Pod['spec']> = {}): Pod {
  const containers = [{ name: 'main', image: 'busybox:1', resources: { claims: [{ name: 'c' }] } }];
  const resourceClaims = [{ name: 'c', resourceClaimName: 'gpu' }];
  return podOf('web', { dnsPolicy: 'Default', containers, resourceClaims, terminationGracePeriodSeconds: 1, ...more });
}

type Running = Awaited<ReturnType<typeof startWithDrivers>>;

async function allocate({ apiServer }: Running, ...pods: readonly Pod[]): Promise<void> {
  const results = [{ driver: DRIVER, pool: 'pool', device: 'd', request: 'r' }];
  const reservedFor = pods.map(({ metadata }) => ({ resource: 'pods', name: metadata.name, uid: metadata.uid }));
  const status = { allocation: { devices: { results } }, reservedFor };
  await apiServer.direct.patch(CLAIM, { status }, { subresource: 'status' }, FOREVER);
}

async function createClaim({ apiServer }: Running): Promise<void> {
  await apiServer.direct.create(CLAIM, { metadata: { name: 'gpu' }, spec: {} }, FOREVER);
}

test('a pod says what its claim waits for, and runs as soon as the driver registers', async () => {
  await using it = await startWithDrivers();
  const { clock } = it.host;
  const pod = await createPod(it, podWithClaim());
  await clock.advance(5_000);
  assert.match(it.explain(), /it needs ResourceClaim "gpu", which does not exist/);
  await createClaim(it);
  await clock.advance(60_000);
  assert.match(it.explain(), /it needs ResourceClaim "gpu", which is not reserved for this pod/);
  await allocate(it, pod);
  await clock.advance(60_000);
  assert.match(it.explain(), /it needs the DRA driver "gpu.example.com", which is not registered on this node/);
  const warnings = new Set(it.agent.pods()[0]?.events.map(({ reason }) => reason));
  assert.ok(warnings.has('FailedPrepareDynamicResources'));
  assert.equal(it.runtime.containers.size, 0);
  const driver = new FakeDraDriver(DRIVER);
  it.draDrivers.register(driver);
  await clock.advance(AT_ONCE_MS);
  const [config] = [...it.runtime.containers.values()].map((each) => each.config.CDIDevices);
  assert.deepEqual(config, [{ name: `${DRIVER}/device=gpu` }]);
  assert.equal(it.agent.pods()[0]?.status.phase, 'Running');
  assert.deepEqual(driver.calls, [{ method: 'prepare', claims: ['gpu'] }]);
  const [health] = it.agent.pods()[0]?.status.containerStatuses?.[0]?.allocatedResourcesStatus ?? [];
  assert.deepEqual(health, {
    name: 'claim:c',
    resources: [{ resourceID: `${DRIVER}/device=gpu`, health: 'Unknown' }],
  });
});

test('the end of a pod is reported after its claims are unprepared', async () => {
  await using it = await startWithDrivers();
  const { clock } = it.host;
  await createClaim(it);
  const pod = await createPod(it, podWithClaim({ restartPolicy: 'Never' }));
  await allocate(it, pod);
  const driver = new FakeDraDriver(DRIVER);
  it.draDrivers.register(driver);
  await clock.advance(60_000);
  assert.equal(await it.apiPhase(), 'Running');
  it.draDrivers.unregister(DRIVER);
  for (const id of it.runtime.containers.keys()) it.runtime.exitContainer(id, { exitCode: 0 });
  await clock.advance(60_000);
  assert.equal(await it.apiPhase(), 'Running');
  assert.match(it.explain(), /it needs the DRA driver "gpu.example.com"/);
  assert.equal((await it.onDisk()).length, 1);
  it.draDrivers.register(driver);
  await clock.advance(1_000);
  assert.equal(await it.apiPhase(), 'Succeeded');
  assert.deepEqual([driver.calls.at(-1)?.method, await it.onDisk()], ['unprepare', []]);
});

test('a pod whose driver never came can be deleted', async () => {
  await using it = await startWithDrivers();
  const { clock } = it.host;
  await createClaim(it);
  await allocate(it, await createPod(it, podWithClaim()));
  await clock.advance(10_000);
  await it.apiServer.direct.delete(podKey('web'), { graceSeconds: 1 }, FOREVER);
  await clock.advance(10_000);
  await assert.rejects(it.apiServer.direct.get(podKey('web'), FOREVER), { reason: 'NotFound' });
});

test('the next agent prepares nothing again for a running pod, and unprepares the claims of a pod that is gone', async () => {
  const driver = new FakeDraDriver(DRIVER);
  const first = await startWithDrivers();
  const { clock } = first.host;
  await createClaim(first);
  await allocate(first, await createPod(first, podWithClaim()));
  first.draDrivers.register(driver);
  await clock.advance(60_000);
  await first.stop();

  const second = await startWithDrivers(first);
  await clock.advance(60_000);
  assert.equal(second.agent.pods()[0]?.status.phase, 'Running');
  await second.stop();
  assert.equal(driver.calls.length, 1);

  await first.apiServer.direct.delete(podKey('web'), { graceSeconds: 0 }, FOREVER);
  await using third = await startWithDrivers(first);
  await clock.advance(60_000);
  assert.equal((await third.onDisk()).length, 1);
  third.draDrivers.register(driver);
  await clock.advance(AT_ONCE_MS);
  assert.deepEqual(await third.onDisk(), []);
  assert.equal(driver.prepared.size, 0);
});
