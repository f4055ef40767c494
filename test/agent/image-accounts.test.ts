/** Images that pods may pull with their service accounts: the whole agent on virtual time. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
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

const VERSION = 'credentialprovider.kubelet.k8s.io/v1';
const TOKENS = { serviceAccountTokenAudience: 'registry', cacheType: 'ServiceAccount', requireServiceAccount: true };
const IMAGE_PULLS = { ...SETTINGS.imagePulls, providers: { config: '/opt/config.json', binDir: '/opt' } };
const RECORDS = `${SETTINGS.rootDir}/image_manager/pulled`;

/** A provider that returns credentials only for tokens of the account `builder`. */
async function installProvider({ host }: World): Promise<string[]> {
  const asked: string[] = [];
  const { fs, processes } = host;
  await fs.makeDirectory('/opt');
  await fs.writeFile('/opt/shop', '', { mode: 0o755 });
  processes.install('/opt/shop', async ({ input, stdout }) => {
    const { serviceAccountToken } = JSON.parse(new TextDecoder().decode(input));
    const { sub } = JSON.parse(Buffer.from(serviceAccountToken.split('.')[1], 'base64url').toString());
    asked.push(sub);
    const auth = sub.endsWith(':builder') ? { 'registry.io': { username: 'u', password: 'p' } } : {};
    stdout(JSON.stringify({ kind: 'CredentialProviderResponse', apiVersion: VERSION, cacheKeyType: 'Registry', auth }));
    return 0;
  });
  const provider = { name: 'shop', matchImages: ['registry.io'], defaultCacheDuration: '1h', apiVersion: VERSION };
  const providers = [{ ...provider, tokenAttributes: TOKENS }];
  const config = { apiVersion: 'kubelet.config.k8s.io/v1', kind: 'CredentialProviderConfig', providers };
  await fs.writeFile('/opt/config.json', JSON.stringify(config));
  return asked;
}

/** A private image, and two service accounts. */
async function newAccountsWorld(): Promise<Required<World>> {
  const world = await newPrivateWorld();
  for (const name of ['builder', 'stranger']) {
    const key = { resource: 'serviceaccounts', namespace: 'default', name } as const;
    await world.apiServer.direct.create(key, { metadata: { name } }, FOREVER);
  }
  return world;
}

async function create(world: Required<World>, name: string, serviceAccountName: string): Promise<void> {
  await createPod(world, podOf(name, { containers: [{ name: 'main', image: PRIVATE_IMAGE }], serviceAccountName }));
}

function stateOf({ agent }: MemoryAgent, name: string): string | undefined {
  const found = agent.pods().find(({ pod }) => pod.metadata.name === name) ?? assert.fail(`no pod ${name}`);
  return found.status.containerStatuses?.[0]?.state?.waiting?.reason ?? found.status.phase;
}

test('an image pulled for a service account is available to its pods alone, also after a restart', async () => {
  const world = await newAccountsWorld();
  const asked = await installProvider(world);
  const it = await startAgent(world, { imagePulls: IMAGE_PULLS });
  it.source.set();
  await create(world, 'owner', 'builder');
  await world.host.clock.advance(2000);
  await create(world, 'guest', 'stranger');
  await create(world, 'friend', 'builder');
  await world.host.clock.advance(2000);
  const states = (agent: MemoryAgent, ...names: string[]) => names.map((name) => stateOf(agent, name));
  assert.deepEqual(states(it, 'owner', 'friend', 'guest'), ['Running', 'Running', 'ImagePullBackOff']);
  assert.deepEqual(asked, ['system:serviceaccount:default:builder', 'system:serviceaccount:default:stranger']);
  await it.stop();

  const [file = assert.fail('no record')] = await world.host.fs.readDirectory(RECORDS);
  const { credentialMapping } = JSON.parse(await world.host.fs.readText(`${RECORDS}/${file.name}`));
  const { kubernetesServiceAccounts: accounts } = credentialMapping['registry.io/team/app'];
  assert.deepEqual(
    accounts.map(({ namespace, name }: { namespace: string; name: string }) => `${namespace}/${name}`),
    ['default/builder'],
  );

  let pulls = 0;
  world.runtime.failures.everyCall((method) => {
    if (method === 'pullImage') pulls++;
    return undefined;
  });
  await using next = await startAgent(world, { imagePulls: IMAGE_PULLS });
  next.source.set();
  await create(world, 'late', 'builder');
  await world.host.clock.advance(2000);
  assert.equal(stateOf(next, 'late'), 'Running');
  assert.equal(pulls, 1, 'only the guest tries again');
});

test('a standalone agent rejects providers that need tokens, with a reason', async () => {
  const world = newWorld();
  await installProvider(world);
  const why =
    'provider "shop" asks for service account tokens, which only an API server gives out: name one with --kubeconfig';
  await assert.rejects(startAgent(world, { imagePulls: IMAGE_PULLS }), {
    name: 'ProviderConfigError',
    message: `failed to validate credential provider config: providers.tokenAttributes: Forbidden: ${why}`,
  });
});
