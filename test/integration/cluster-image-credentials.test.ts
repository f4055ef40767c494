/** Images that pods pull with service account tokens: a real API server, and a provider that exchanges tokens for credentials. */
import assert from 'node:assert/strict';
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { type ControlPlane, podOn } from './cluster-fixture.ts';
import { type IdentityExchange, startExchange, writeProvider } from './identity-exchange.ts';
import { type NodeletNode, nodeletNodeSkipReason, startNodeletNode } from './nodelet-node.ts';
import { LOGIN, registryMissingReason, startRegistry, type TestRegistry, trustRegistry } from './registry-fixture.ts';
import { until } from './until.ts';

const NODE = 'box';
const AUDIENCE = 'registry.example.com';
const VERB = 'request-serviceaccounts-token-audience';
const TEAM = 'example.com/team';
const BUILDER = 'system:serviceaccount:default:builder';
const skip = registryMissingReason() || nodeletNodeSkipReason();

describe('image pulls with service accounts', { skip }, () => {
  let registry: TestRegistry;
  let exchange: IdentityExchange;
  let node: NodeletNode;
  let plane: ControlPlane;
  let image = '';
  before(async () => {
    registry = await startRegistry({ asksForLogin: true });
    image = await registry.push('team/app');
    node = await startNodeletNode(NODE, async (started, runtime) => {
      trustRegistry(runtime.folder, registry.address);
      const isWelcome = ({ user, image: of }: { user: string; image: string }) =>
        user === BUILDER || of.includes('/open/');
      exchange = await startExchange(started, { audience: AUDIENCE, isWelcome, login: LOGIN });
      const folder = join(started.folder, 'providers');
      const staticPodPath = join(started.folder, 'static');
      for (const path of [folder, staticPodPath]) mkdirSync(path);
      return { config: { staticPodPath }, flags: writeProviders(folder, registry, exchange) };
    });
    ({ plane } = node);
    await plane.apply(
      account('builder', { [TEAM]: 'a', 'example.com/other': 'x' }),
      account('stranger', { [TEAM]: 'b' }),
      account('plain'),
    );
  });
  after(async () => {
    await node?.stop();
    await exchange?.stop();
    await registry?.stop();
  });

  const run = (name: string, serviceAccountName: string): Promise<void> =>
    plane.apply(podOn(NODE, name, { ...onceOf(image), serviceAccountName }));
  const done = (name: string): Promise<void> => plane.wait(name, 'jsonpath={.status.phase}=Succeeded');
  const isRefused = (name: string) =>
    until(async () => /\b401\b/.test(await plane.field(name, '.status.containerStatuses[0].state.waiting.message')));
  const log = (): string => readFileSync(join(plane.folder, NODE, 'kubelet.log'), 'utf8');
  const visitors = (pod: string) => exchange.visitors.filter((each) => each.pod === pod);
  const records = (): unknown[] => {
    const folder = join(plane.folder, NODE, 'root/image_manager/pulled');
    const all = readdirSync(folder).map((name) => JSON.parse(readFileSync(join(folder, name), 'utf8')));
    return all.map(({ credentialMapping }) => credentialMapping);
  };

  test('a node gets no token for an audience that it may not request', async () => {
    await run('early', 'builder');
    await isRefused('early');
    const why = `audience "${AUDIENCE}" not found in pod spec volume, system:node:${NODE} is not authorized to request tokens for this audience`;
    await until(() => log().includes(JSON.stringify(why).slice(1, -1)));
    assert.deepEqual(exchange.visitors, []);
    await plane.kubectl('delete', 'pod', 'early', '--timeout=60s');
  });

  test('a pod pulls with the credentials for its service account token', async () => {
    await plane.apply(...audienceRole());
    await plane.allowed({ user: `system:node:${NODE}`, groups: ['system:nodes'] }, VERB, AUDIENCE);
    await run('web', 'builder');
    await done('web');
    const visitor = { user: BUILDER, pod: 'web', image: image.replace(/:1$/, ''), annotations: { [TEAM]: 'a' } };
    assert.deepEqual(exchange.visitors, [visitor]);
    const uid = await plane.kubectl('get', 'serviceaccount', 'builder', '-ojsonpath={.metadata.uid}');
    const kubernetesServiceAccounts = [{ uid, namespace: 'default', name: 'builder' }];
    assert.deepEqual(records(), [{ [image.replace(/:1$/, '')]: { kubernetesServiceAccounts } }]);
  });

  test('another pod of the account uses the image without another exchange, also with the next agent', async () => {
    await run('friend', 'builder');
    await done('friend');
    assert.deepEqual(visitors('friend'), []);
    await node.restart();
    await run('late', 'builder');
    await done('late');
    assert.equal(visitors('late').length, 1, 'logins are not kept on disk');
    const selector = '--field-selector=involvedObject.name=late,reason=Pulled';
    const message = await until(() => plane.kubectl('get', 'events', selector, '-ojsonpath={.items[*].message}'));
    assert.equal(message, `Container image "${image}" already present on machine and can be accessed by the pod`);
  });

  test('the image is not available to an account without credentials, nor to one that has not requested any', async () => {
    await run('guest', 'stranger');
    await run('plain', 'plain');
    await isRefused('guest');
    await isRefused('plain');
    const [{ user } = assert.fail('no request')] = await until(() => someOf(visitors('guest')));
    assert.equal(user, 'system:serviceaccount:default:stranger');
    assert.deepEqual(visitors('plain'), []);
  });

  test('a static pod has no account: only providers that need none are called', async () => {
    const open = await registry.push('open/app');
    const manifest = (name: string, of: string) => ({ ...podOn('', name, onceOf(of)) });
    for (const [name, of] of Object.entries({ closed: image, open })) {
      writeFileSync(join(plane.folder, 'static', `${name}.json`), JSON.stringify(manifest(name, of)));
    }
    await until(async () => (await plane.field(`open-${NODE}`, '.status.phase')) === 'Succeeded');
    await isRefused(`closed-${NODE}`);
    const withoutAccount = exchange.visitors.filter(({ user }) => user === '').map(({ image: of }) => of);
    assert.deepEqual(withoutAccount, [open.replace(/:1$/, '')]);
    assert.ok(records().some((each) => Object(each)[open.replace(/:1$/, '')]?.nodePodsAccessible === true));
  });

  test('no token is in the log', () => assert.ok(!log().includes('eyJ')));
});

/** Runs a pod of the image once. */
function onceOf(image: string): object {
  const containers = [{ name: 'main', image, imagePullPolicy: 'IfNotPresent', command: ['true'] }];
  return { automountServiceAccountToken: false, hostNetwork: true, restartPolicy: 'Never', containers };
}

function account(name: string, annotations: Readonly<Record<string, string>> = {}): object {
  return { apiVersion: 'v1', kind: 'ServiceAccount', metadata: { name, namespace: 'default', annotations } };
}

/** Allows nodes to request tokens for the registry. */
function audienceRole(): readonly object[] {
  const [apiGroup, metadata] = ['rbac.authorization.k8s.io', { name: 'image-tokens' }];
  const header = { apiVersion: `${apiGroup}/v1`, metadata };
  const rules = [{ apiGroups: [''], resources: [AUDIENCE], verbs: [VERB] }];
  const subjects = [{ apiGroup, kind: 'Group', name: 'system:nodes' }];
  const roleRef = { apiGroup, kind: 'ClusterRole', name: metadata.name };
  return [
    { ...header, kind: 'ClusterRole', rules },
    { ...header, kind: 'ClusterRoleBinding', subjects, roleRef },
  ];
}

/** One provider for pods of a team, one for all others; returns the flags that name them. */
function writeProviders(folder: string, { address }: TestRegistry, { url }: IdentityExchange): readonly string[] {
  const common = { defaultCacheDuration: '1h', apiVersion: 'credentialprovider.kubelet.k8s.io/v1', args: [url] };
  const tokens = { serviceAccountTokenAudience: AUDIENCE, cacheType: 'ServiceAccount' };
  const ofTeam = { ...tokens, requireServiceAccount: true, requiredServiceAccountAnnotationKeys: [TEAM] };
  const providers = [
    { ...common, name: 'team', matchImages: [`${address}/team`], tokenAttributes: ofTeam },
    {
      ...common,
      name: 'open',
      matchImages: [`${address}/open`],
      tokenAttributes: { ...tokens, requireServiceAccount: false },
    },
  ];
  for (const { name } of providers) writeProvider(join(folder, name), address);
  const config = join(folder, 'config.json');
  const header = { apiVersion: 'kubelet.config.k8s.io/v1', kind: 'CredentialProviderConfig' };
  writeFileSync(config, JSON.stringify({ ...header, providers }));
  return [`--image-credential-provider-config=${config}`, `--image-credential-provider-bin-dir=${folder}`];
}

function someOf<T>(all: readonly T[]): readonly T[] | undefined {
  return all.length > 0 ? all : undefined;
}
