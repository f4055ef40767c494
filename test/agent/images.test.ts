/** Image pulls, image access and their events: the whole agent on virtual time. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Pod } from '../../src/api/generated/core-v1.ts';
import {
  createPod,
  FOREVER,
  type MemoryAgent,
  newWorld,
  podOf,
  SETTINGS,
  startAgent,
  type World,
} from './memory-agent.ts';
import { newPrivateWorld, PRIVATE_IMAGE } from './private-image.ts';

const MISSING = 'Unable to retrieve some image pull secrets (login); attempting to pull the image may not succeed.';

function imagePod(name: string, image = PRIVATE_IMAGE, spec: Partial<Pod['spec']> = {}): Pod {
  return podOf(name, { containers: [{ name: 'main', image }], ...spec });
}

async function create(world: Required<World>, name: string, spec: Partial<Pod['spec']>): Promise<void> {
  await createPod(world, imagePod(name, PRIVATE_IMAGE, spec));
}

async function createSecret({ apiServer }: Required<World>, name: string, password: string): Promise<void> {
  const config = JSON.stringify({ auths: { 'registry.io': { username: 'u', password } } });
  const secret = {
    metadata: { name, namespace: 'default' },
    type: 'kubernetes.io/dockerconfigjson',
    data: { '.dockerconfigjson': Buffer.from(config).toString('base64') },
  };
  await apiServer.direct.create({ resource: 'secrets', namespace: 'default', name }, secret, FOREVER);
}

function reportOf({ agent }: MemoryAgent, name: string) {
  return agent.pods().find(({ pod }) => pod.metadata.name === name) ?? assert.fail(`no pod ${name}`);
}

function waitingOf(it: MemoryAgent, name: string): string | undefined {
  return reportOf(it, name).status.containerStatuses?.[0]?.state?.waiting?.reason;
}

function phaseOf(it: MemoryAgent, name: string): string | undefined {
  return reportOf(it, name).status.phase;
}

function countCalls({ runtime }: World, counted: string): () => number {
  let count = 0;
  runtime.failures.everyCall((method) => {
    if (method === counted) count++;
    return undefined;
  });
  return () => count;
}

test('a pod starts once its pull secret exists', async () => {
  const world = await newPrivateWorld();
  await using it = await startAgent(world);
  it.source.set();
  await create(world, 'web', { imagePullSecrets: [{ name: 'login' }] });
  await world.host.clock.advance(2000);
  assert.equal(waitingOf(it, 'web'), 'ImagePullBackOff');
  const failures = reportOf(it, 'web').events.filter(({ reason }) => reason === 'FailedToRetrieveImagePullSecret');
  const texts = failures.map(({ type, message, fieldPath }) => `${type} ${message} ${fieldPath}`);
  assert.deepEqual(new Set(texts), new Set([`Warning ${MISSING} undefined`]));
  await createSecret(world, 'login', 'p');
  await world.host.clock.advance(15_000);
  assert.equal(phaseOf(it, 'web'), 'Running');
});

test('several pull secrets are tried in order', async () => {
  const world = await newPrivateWorld();
  await createSecret(world, 'old', 'forgotten');
  await createSecret(world, 'login', 'p');
  const pulls = countCalls(world, 'pullImage');
  await using it = await startAgent(world);
  it.source.set();
  await create(world, 'web', { imagePullSecrets: [{ name: 'old' }, { name: 'login' }] });
  await world.host.clock.advance(2000);
  assert.deepEqual([phaseOf(it, 'web'), pulls()], ['Running', 2]);
});

test('an image pulled with a secret is not available to pods without it, also after a restart', async () => {
  const world = await newPrivateWorld();
  await createSecret(world, 'login', 'p');
  const it = await startAgent(world);
  it.source.set();
  await create(world, 'owner', { imagePullSecrets: [{ name: 'login' }] });
  await world.host.clock.advance(2000);
  await create(world, 'guest', {});
  await world.host.clock.advance(2000);
  assert.deepEqual([phaseOf(it, 'owner'), waitingOf(it, 'guest')], ['Running', 'ImagePullBackOff']);
  await it.stop();

  await using next = await startAgent(world);
  next.source.set();
  await create(world, 'stranger', {});
  await create(world, 'friend', { imagePullSecrets: [{ name: 'login' }] });
  await world.host.clock.advance(5000);
  assert.deepEqual([waitingOf(next, 'stranger'), phaseOf(next, 'friend')], ['ImagePullBackOff', 'Running']);
});

test('a pod that is deleted during its pull ends at once and leaves no pull intent', async () => {
  const world = newWorld();
  world.runtime.registry.set(PRIVATE_IMAGE, { pullMs: 3_600_000 });
  await using it = await startAgent(world);
  it.source.set(imagePod('web'));
  await world.host.clock.advance(1000);
  const folder = `${SETTINGS.rootDir}/image_manager/pulling`;
  assert.equal((await world.host.fs.readDirectory(folder)).length, 1);
  it.source.set();
  await world.host.clock.advance(1000);
  assert.deepEqual(it.agent.pods(), []);
  assert.deepEqual(await world.host.fs.readDirectory(folder), []);
});

test('an agent that exits during a pull leaves the pull intent to the next one', async () => {
  const world = newWorld();
  world.runtime.registry.set(PRIVATE_IMAGE, { pullMs: 3_600_000 });
  const it = await startAgent(world);
  it.source.set(imagePod('web'));
  await world.host.clock.advance(1000);
  await it.stop();
  assert.equal((await world.host.fs.readDirectory(`${SETTINGS.rootDir}/image_manager/pulling`)).length, 1);
});

test('the node’s own docker configuration is used for all pods', async () => {
  const world = await newPrivateWorld();
  await world.host.fs.makeDirectory(SETTINGS.rootDir);
  const auths = { 'https://registry.io/v2/': { auth: Buffer.from('u:p').toString('base64') } };
  await world.host.fs.writeFile(`${SETTINGS.rootDir}/config.json`, JSON.stringify({ auths }));
  await using it = await startAgent(world);
  it.source.set(imagePod('one'), imagePod('two'));
  await world.host.clock.advance(2000);
  assert.deepEqual([phaseOf(it, 'one'), phaseOf(it, 'two')], ['Running', 'Running']);
});

test('a credential provider is called once for many pods of one image', async () => {
  const world = await newPrivateWorld();
  const { fs, processes } = world.host;
  let runs = 0;
  await fs.makeDirectory('/opt');
  await fs.writeFile('/opt/shop', '', { mode: 0o755 });
  const apiVersion = 'credentialprovider.kubelet.k8s.io/v1';
  processes.install('/opt/shop', async ({ stdout }) => {
    runs++;
    const auth = { 'registry.io': { username: 'u', password: 'p' } };
    stdout(JSON.stringify({ kind: 'CredentialProviderResponse', apiVersion, cacheKeyType: 'Registry', auth }));
    return 0;
  });
  const provider = { name: 'shop', matchImages: ['registry.io'], defaultCacheDuration: '1h', apiVersion };
  const config = { apiVersion: 'kubelet.config.k8s.io/v1', kind: 'CredentialProviderConfig', providers: [provider] };
  await fs.writeFile('/opt/config.json', JSON.stringify(config));
  const imagePulls = { ...SETTINGS.imagePulls, providers: { config: '/opt/config.json', binDir: '/opt' } };
  await using it = await startAgent(world, { imagePulls });
  const names = Array.from({ length: 20 }, (_, index) => `web-${index}`);
  it.source.set(...names.map((name) => imagePod(name)));
  await world.host.clock.advance(5000);
  assert.deepEqual(new Set(names.map((name) => phaseOf(it, name))), new Set(['Running']));
  assert.equal(runs, 1);
});

test('50 pods of one new image cause one pull', async () => {
  const world = newWorld();
  world.runtime.registry.set(PRIVATE_IMAGE, { pullMs: 700 });
  const pulls = countCalls(world, 'pullImage');
  await using it = await startAgent(world);
  const names = Array.from({ length: 50 }, (_, index) => `web-${index}`);
  it.source.set(...names.map((name) => imagePod(name)));
  await world.host.clock.advance(60_000);
  assert.deepEqual(new Set(names.map((name) => phaseOf(it, name))), new Set(['Running']));
  assert.equal(pulls(), 1);
});

test('pulls beyond the rate limit happen after their back-off', async () => {
  const world = newWorld();
  const names = Array.from({ length: 15 }, (_, index) => `app-${index}`);
  for (const name of names) world.runtime.registry.set(`registry.io/${name}:1`, {});
  await using it = await startAgent(world, { serializeImagePulls: false });
  it.source.set(...names.map((name) => imagePod(name, `registry.io/${name}:1`)));
  await world.host.clock.advance(1000);
  const late = names.filter((name) => phaseOf(it, name) !== 'Running');
  assert.ok(late.length > 0);
  assert.ok(reportOf(it, late[0] ?? '').events.some(({ message }) => message.endsWith('": pull QPS exceeded')));
  await world.host.clock.advance(15_000);
  assert.deepEqual(new Set(names.map((name) => phaseOf(it, name))), new Set(['Running']));
});

test('a pull that was in progress when the agent died counts as one of kubelet’s', async () => {
  const world = await newPrivateWorld();
  await createSecret(world, 'login', 'p');
  const it = await startAgent(world);
  it.source.set();
  await create(world, 'owner', { imagePullSecrets: [{ name: 'login' }] });
  await world.host.clock.advance(50);
  // As after kill -9: the intent is on disk, and the runtime completed the pull.
  const folder = `${SETTINGS.rootDir}/image_manager/pulling`;
  const [intent = assert.fail('no intent')] = await world.host.fs.readDirectory(folder);
  const text = await world.host.fs.readText(`${folder}/${intent.name}`);
  await it.stop();
  await world.host.fs.writeFile(`${folder}/${intent.name}`, text);
  world.runtime.addImage(PRIVATE_IMAGE);

  await using next = await startAgent(world);
  next.source.set();
  await create(world, 'guest', {});
  await world.host.clock.advance(5000);
  assert.deepEqual([phaseOf(next, 'owner'), waitingOf(next, 'guest')], ['Running', 'ImagePullBackOff']);
  assert.deepEqual(await world.host.fs.readDirectory(folder), []);
});
