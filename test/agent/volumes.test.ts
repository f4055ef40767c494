/** Volumes of pods: the whole agent on virtual time. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ConfigMap, Pod, Volume, VolumeMount } from '../../src/api/generated/core-v1.ts';
import { createPod, newWorld, phaseOf, podOf, startAgent, startClusterAgent, warnings } from './memory-agent.ts';

const FOLDER = '/var/lib/kubelet/pods/uid-web';
const CONF = `${FOLDER}/volumes/kubernetes.io~configmap/conf`;
/** Long enough for the agent to act, far less than any retry or resync. */
const AT_ONCE_MS = 50;

function configMap(text: string): ConfigMap {
  return { metadata: { name: 'settings', namespace: 'default' }, data: { 'app.conf': text } };
}

function podWith(volume: Omit<Volume, 'name'>, mount: Partial<VolumeMount> = {}): Pod {
  const volumeMounts = [{ name: 'conf', mountPath: '/conf', ...mount }];
  const containers = [{ name: 'main', image: 'busybox:1', volumeMounts }];
  return podOf('web', { dnsPolicy: 'Default', containers, volumes: [{ name: 'conf', ...volume }] });
}

const ofSettings = { configMap: { name: 'settings' } };

test('a pod waits for its ConfigMap, and runs once it exists', async () => {
  await using it = await startAgent();
  it.source.set(podWith(ofSettings));
  await it.host.clock.advance(60_000);
  assert.equal(phaseOf(it), 'Pending');
  assert.deepEqual(warnings(it), [
    'FailedMount: MountVolume.SetUp failed for volume "conf" : configmap "settings" not found',
  ]);
  assert.equal(it.runtime.sandboxes.size, 0);
  it.source.setObjects({ configMaps: [configMap('1')] });
  await it.host.clock.advance(AT_ONCE_MS);
  assert.equal(phaseOf(it), 'Running');
  assert.equal(await it.host.fs.readText(`${CONF}/app.conf`), '1');
});

test('a change in a manifest reaches the running container at once', async () => {
  await using it = await startAgent();
  it.source.setObjects({ configMaps: [configMap('1')] });
  it.source.set(podWith(ofSettings));
  await it.host.clock.advance(1000);
  it.source.setObjects({ configMaps: [configMap('2')] });
  await it.host.clock.advance(AT_ONCE_MS);
  assert.equal(await it.host.fs.readText(`${CONF}/app.conf`), '2');
  assert.equal(it.runtime.containers.size, 1);
});

test('a change at the API server reaches the running container at once', async () => {
  const life = new AbortController().signal;
  await using it = await startClusterAgent();
  const { direct } = it.apiServer;
  const map = { resource: 'configmaps', namespace: 'default', name: 'settings' } as const;
  const pod = podWith(ofSettings);
  await direct.create(map, configMap('1'), life);
  await createPod(it, pod);
  await it.host.clock.advance(3000);
  const path = `/var/lib/kubelet/pods/${it.agent.pods()[0]?.pod.metadata.uid}/volumes/kubernetes.io~configmap/conf`;
  assert.equal(await it.host.fs.readText(`${path}/app.conf`), '1');
  const old = await direct.get(map, life);
  await direct.update(map, { ...old, data: { 'app.conf': '2' } }, life);
  await it.host.clock.advance(AT_ONCE_MS);
  assert.equal(await it.host.fs.readText(`${path}/app.conf`), '2');
});

test('a label change reaches the running container at once', async () => {
  await using it = await startAgent();
  const items = [{ path: 'labels', fieldRef: { fieldPath: 'metadata.labels' } }];
  const pod = podWith({ downwardAPI: { items } });
  const labelled = (app: string): Pod => ({ ...pod, metadata: { ...pod.metadata, labels: { app } } });
  it.source.set(labelled('old'));
  await it.host.clock.advance(1000);
  it.source.set(labelled('new'));
  await it.host.clock.advance(AT_ONCE_MS);
  const text = await it.host.fs.readText(`${FOLDER}/volumes/kubernetes.io~downward-api/conf/labels`);
  assert.equal(text, 'app="new"');
  assert.equal(it.runtime.containers.size, 1);
});

test('a deleted ConfigMap leaves its content, is reported, and recovers when it is recreated', async () => {
  await using it = await startAgent();
  it.source.setObjects({ configMaps: [configMap('1')] });
  it.source.set(podWith(ofSettings));
  await it.host.clock.advance(1000);
  it.source.setObjects({});
  await it.host.clock.advance(AT_ONCE_MS);
  assert.equal(phaseOf(it), 'Running');
  assert.equal(await it.host.fs.readText(`${CONF}/app.conf`), '1');
  assert.deepEqual(warnings(it), [
    'FailedMount: MountVolume.SetUp failed for volume "conf" : configmap "settings" not found',
  ]);
  it.source.setObjects({ configMaps: [configMap('2')] });
  await it.host.clock.advance(AT_ONCE_MS);
  assert.equal(await it.host.fs.readText(`${CONF}/app.conf`), '2');
  const reported = it.agent.pods()[0]?.events.length;
  await it.host.clock.advance(600_000);
  assert.equal(it.agent.pods()[0]?.events.length, reported);
});

test('a deleted ConfigMap does not keep a changed pod from restarting', async () => {
  await using it = await startAgent();
  const pod = podWith(ofSettings);
  it.source.setObjects({ configMaps: [configMap('1')] });
  it.source.set(pod);
  await it.host.clock.advance(1000);
  it.source.setObjects({});
  it.source.set({ ...pod, metadata: { ...pod.metadata, labels: { app: 'new' } } });
  await it.host.clock.advance(AT_ONCE_MS);
  const [first] = it.runtime.containers.keys();
  it.runtime.exitContainer(String(first), { exitCode: 1 });
  await it.host.clock.advance(60_000);
  const [main] = it.agent.pods()[0]?.status.containerStatuses ?? [];
  assert.deepEqual([main?.restartCount, Object.keys(main?.state ?? {})], [1, ['running']]);
  assert.equal(await it.host.fs.readText(`${CONF}/app.conf`), '1');
});

test('a volume that could not be updated to a new version of its pod is retried soon', async () => {
  await using it = await startAgent();
  const items = [{ path: 'labels', fieldRef: { fieldPath: 'metadata.labels' } }];
  const pod = podWith({ downwardAPI: { items } });
  const labelled = (app: string): Pod => ({ ...pod, metadata: { ...pod.metadata, labels: { app } } });
  const folder = `${FOLDER}/volumes/kubernetes.io~downward-api/conf`;
  it.source.set(labelled('old'));
  await it.host.clock.advance(1000);
  const { fs } = it.host;
  fs.errors.failNext('remove', 'EIO', `${folder}/..data_tmp`);
  it.source.set(labelled('new'));
  await it.host.clock.advance(AT_ONCE_MS);
  assert.equal(await fs.readText(`${folder}/labels`), 'app="old"');
  assert.equal(warnings(it).length, 1);
  await it.host.clock.advance(16_000);
  assert.equal(await fs.readText(`${folder}/labels`), 'app="new"');
});

test('a volume of an unsupported type keeps its pod from running, and is named; a corrected manifest runs', async () => {
  await using it = await startAgent();
  it.source.set(podWith({ flexVolume: { driver: 'example.com/files' } }));
  await it.host.clock.advance(1000);
  assert.equal(phaseOf(it), 'Pending');
  assert.deepEqual(warnings(it), [
    'FailedMount: volume "conf" is of type flexVolume, which is deprecated and has no drivers on this node: use a CSI driver',
  ]);
  const changed = podWith({ emptyDir: {} });
  it.source.set({ ...changed, metadata: { ...changed.metadata, uid: 'uid-changed' } });
  await it.host.clock.advance(3000);
  assert.equal(it.agent.pods().find(({ pod }) => pod.metadata.uid === 'uid-changed')?.status.phase, 'Running');
});

test('a subPath is bound for each start, and removed at the end', async () => {
  const world = newWorld();
  await using it = await startAgent(world);
  const { fs, mounts, clock } = it.host;
  it.source.setObjects({ configMaps: [configMap('1')] });
  it.source.set(podWith(ofSettings, { subPath: 'app.conf' }));
  await clock.advance(1000);
  const bound = `${FOLDER}/volume-subpaths/conf/main/0`;
  const hostPath = (): unknown => [...it.runtime.containers.values()].at(-1)?.config.mounts[0]?.hostPath;
  assert.equal(hostPath(), bound);
  it.source.setObjects({ configMaps: [configMap('2')] });
  await clock.advance(AT_ONCE_MS);
  assert.equal(await fs.readText(bound), '1', 'a bound file is as it was when its container started');

  const [running] = it.runtime.containers.keys();
  it.runtime.exitContainer(running ?? '', { exitCode: 1 });
  await clock.advance(15_000);
  assert.equal(it.runtime.containers.size, 2);
  assert.equal(await fs.readText(bound), '2');
  it.source.set();
  await clock.advance(60_000);
  assert.deepEqual(
    (await mounts.list()).map(({ target }) => target),
    ['/'],
  );
  assert.equal(await fs.stat(FOLDER), undefined);
});

test('an expression without a value keeps its container from starting', async () => {
  await using it = await startAgent();
  it.source.set(podWith({ emptyDir: {} }, { subPathExpr: 'logs/$(NODE)' }));
  await it.host.clock.advance(1000);
  const waiting = it.agent.pods()[0]?.status.containerStatuses?.[0]?.state?.waiting;
  assert.deepEqual(waiting, { reason: 'CreateContainerConfigError', message: 'missing value for NODE' });
  assert.deepEqual(warnings(it), ['Failed: Error: missing value for NODE']);
});

test('the next agent adopts existing volumes', async () => {
  const world = newWorld();
  const first = await startAgent(world);
  first.source.setObjects({ configMaps: [configMap('1')] });
  first.source.set(podWith(ofSettings));
  await world.host.clock.advance(1000);
  const version = await world.host.fs.readLink(`${CONF}/..data`);
  await first.stop();
  await using next = await startAgent(world);
  next.source.setObjects({ configMaps: [configMap('1')] });
  next.source.set(podWith(ofSettings));
  await world.host.clock.advance(1000);
  assert.equal(await world.host.fs.readLink(`${CONF}/..data`), version);
  assert.equal(world.runtime.containers.size, 1);
});
