/** ConfigMaps, Secrets and services of pods, from an API server or from manifests: the whole agent on virtual time. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Container, EnvVarSource, Pod } from '../../src/api/generated/core-v1.ts';
import { toStaticPod } from '../../src/api/static-pod.ts';
import {
  createPod,
  FOREVER,
  type MemoryAgent,
  podKey,
  podOf,
  SETTINGS,
  startAgent,
  startClusterAgent,
} from './memory-agent.ts';

const { nodeName } = SETTINGS;
/** The shortest retry interval of a failed pod: a faster reaction was triggered by a change. */
const NO_TIME_MS = 500;

const fromConfigMap = (key: string, optional = false): EnvVarSource => ({
  configMapKeyRef: { name: 'settings', key, optional },
});

function container(name: string, more: Partial<Container> = {}): Container {
  return { name, image: 'busybox:1', ...more };
}

function settings(color: string) {
  return { metadata: { name: 'settings', namespace: 'default' }, data: { color } };
}

/** The variables of the newest container of each name. */
function environments({ runtime }: MemoryAgent): Record<string, Record<string, string>> {
  const all = [...runtime.containers.values()].map(({ config }) => [
    config.metadata?.name,
    Object.fromEntries(config.envs.map(({ key, value }) => [key, new TextDecoder().decode(value)])),
  ]);
  return Object.fromEntries(all);
}

/** `main: CreateContainerConfigError: …`, or the state. */
function states({ agent }: MemoryAgent): string[] {
  const statuses = agent.pods().flatMap(({ status }) => status.containerStatuses ?? []);
  return statuses.map(({ name, state }) => {
    const { waiting, running } = state ?? {};
    return `${name}: ${waiting ? `${waiting.reason}: ${waiting.message}` : running ? 'running' : 'other'}`;
  });
}

const CONFIG_MAP = { resource: 'configmaps', namespace: 'default', name: 'settings' } as const;

test('a container with a missing ConfigMap shows that, the others start, and it starts once the object exists', async () => {
  await using it = await startClusterAgent();
  const env = [{ name: 'COLOR', valueFrom: fromConfigMap('color') }];
  await createPod(it, podOf('web', { containers: [container('main', { env }), container('other')] }));
  await it.host.clock.advance(NO_TIME_MS);
  assert.deepEqual(states(it), ['main: CreateContainerConfigError: configmap "settings" not found', 'other: running']);
  await it.apiServer.direct.create(CONFIG_MAP, { ...settings('red'), data: {} }, FOREVER);
  await it.host.clock.advance(NO_TIME_MS);
  assert.deepEqual(states(it), [
    "main: CreateContainerConfigError: couldn't find key color in ConfigMap default/settings",
    'other: running',
  ]);
  await it.apiServer.direct.patch(CONFIG_MAP, { data: { color: 'red' } }, {}, FOREVER);
  await it.host.clock.advance(NO_TIME_MS);
  assert.deepEqual(states(it), ['main: running', 'other: running']);
  assert.deepEqual(environments(it)['main'], { COLOR: 'red' });
});

test('a running container keeps its variables; the next start has the current values', async () => {
  await using it = await startClusterAgent();
  await it.apiServer.direct.create(CONFIG_MAP, settings('red'), FOREVER);
  const envFrom = [{ configMapRef: { name: 'settings' } }];
  await createPod(it, podOf('web', { containers: [container('main', { envFrom })] }));
  await it.host.clock.advance(NO_TIME_MS);
  await it.apiServer.direct.patch(CONFIG_MAP, { data: { color: 'blue' } }, {}, FOREVER);
  await it.host.clock.advance(NO_TIME_MS);
  const [first] = it.runtime.containers.keys();
  assert.equal(it.runtime.containers.size, 1);
  it.runtime.exitContainer(String(first), { exitCode: 1 });
  await it.host.clock.advance(20_000);
  assert.deepEqual(states(it), ['main: running']);
  assert.deepEqual(environments(it)['main'], { color: 'blue' });
});

test('a pod with missing objects does not start during an API server outage, and starts after it', async () => {
  await using it = await startClusterAgent();
  await it.apiServer.direct.create(CONFIG_MAP, settings('red'), FOREVER);
  it.apiServer.faults.everyCall((verb, { resource }) =>
    verb === 'list' && resource === 'configmaps' ? { kind: 'hang' } : undefined,
  );
  await createPod(
    it,
    podOf('web', { containers: [container('main', { envFrom: [{ configMapRef: { name: 'settings' } }] })] }),
  );
  await it.host.clock.advance(3_000);
  assert.deepEqual(states(it), [
    'main: CreateContainerConfigError: failed to sync configmap cache: timed out waiting for the condition',
  ]);
  it.apiServer.faults.everyCall(() => undefined);
  await it.host.clock.advance(120_000);
  assert.deepEqual(states(it), ['main: running']);
});

test('a pod gets the services of its namespace, and always the API server', async () => {
  await using it = await startClusterAgent();
  const service = (name: string, namespace: string, clusterIP: string) =>
    it.apiServer.direct.create(
      { resource: 'services', namespace, name },
      { metadata: { name, namespace }, spec: { clusterIP, ports: [{ port: 443 }] } },
      FOREVER,
    );
  await service('kubernetes', 'default', '10.0.0.1');
  await service('db', 'default', '10.0.0.2');
  await it.host.clock.advance(0);
  await createPod(it, podOf('linked', { containers: [container('linked')], enableServiceLinks: true }));
  await createPod(it, podOf('alone', { containers: [container('alone')], enableServiceLinks: false }));
  await it.host.clock.advance(NO_TIME_MS);
  const hosts = Object.entries(environments(it)).map(([name, variables]) => [
    name,
    Object.keys(variables).filter((key) => key.endsWith('_SERVICE_HOST')),
  ]);
  assert.deepEqual(Object.fromEntries(hosts), {
    linked: ['DB_SERVICE_HOST', 'KUBERNETES_SERVICE_HOST'],
    alone: ['KUBERNETES_SERVICE_HOST'],
  });
});

test('objects are watched only while a pod uses them', async () => {
  const it = await startClusterAgent();
  await it.host.clock.advance(0);
  const before = it.apiServer.watches;
  await createPod(
    it,
    podOf('web', { containers: [container('main', { envFrom: [{ secretRef: { name: 's', optional: true } }] })] }),
  );
  await it.host.clock.advance(NO_TIME_MS);
  assert.equal(it.apiServer.watches, before + 1);
  await it.apiServer.direct.delete(podKey('web'), {}, FOREVER);
  await it.host.clock.advance(60_000);
  assert.equal(it.apiServer.watches, before);
  await it.stop();
});

function staticPod(spec: Partial<Pod['spec']>): Pod {
  return toStaticPod(podOf('web', spec), { source: 'file', location: '/web.yaml', nodeName, seen: '' });
}

test('without an API server objects come from manifests, and a change wakes the pods that refer to it', async () => {
  await using it = await startAgent();
  const env = [
    { name: 'COLOR', valueFrom: fromConfigMap('color') },
    { name: 'SIZE', valueFrom: fromConfigMap('size', true) },
    { name: 'USER', valueFrom: { secretKeyRef: { name: 'login', key: 'user' } } },
  ];
  it.source.set(staticPod({ containers: [container('main', { env })] }));
  await it.host.clock.advance(NO_TIME_MS);
  assert.deepEqual(states(it), ['main: CreateContainerConfigError: configmap "settings" not found']);
  it.source.setObjects({ configMaps: [settings('red')] });
  await it.host.clock.advance(NO_TIME_MS);
  assert.deepEqual(states(it), ['main: CreateContainerConfigError: secret "login" not found']);
  const login = { metadata: { name: 'login', namespace: 'default' }, data: { user: 'bWU=' } };
  it.source.setObjects({ configMaps: [settings('red')], secrets: [login] });
  await it.host.clock.advance(NO_TIME_MS);
  assert.deepEqual(states(it), ['main: running']);
  assert.deepEqual(environments(it)['main'], { COLOR: 'red', USER: 'me' });
  it.source.setObjects({});
  await it.host.clock.advance(NO_TIME_MS);
  assert.deepEqual(states(it), ['main: running']);
  const [first] = it.runtime.containers.keys();
  it.runtime.exitContainer(String(first), { exitCode: 1 });
  await it.host.clock.advance(20_000);
  assert.deepEqual(states(it), ['main: CreateContainerConfigError: configmap "settings" not found']);
});

test('a variable can come from a file that an init container has written', async () => {
  await using it = await startAgent();
  it.runtime.behaviours.set('writer', { exits: { afterMs: 1000, code: 0 } });
  const fileKeyRef = { volumeName: 'vars', path: 'out/app.env', key: 'TOKEN' };
  const pod = staticPod({
    volumes: [{ name: 'vars', emptyDir: {} }],
    initContainers: [container('writer', { volumeMounts: [{ name: 'vars', mountPath: '/vars' }] })],
    containers: [container('main', { env: [{ name: 'T', valueFrom: { fileKeyRef } }] })],
  });
  it.source.set(pod);
  await it.host.clock.advance(NO_TIME_MS);
  const folder = `${SETTINGS.rootDir}/pods/${pod.metadata.uid}/volumes/kubernetes.io~empty-dir/vars`;
  await it.host.fs.makeDirectory(`${folder}/out`);
  await it.host.fs.writeFile(`${folder}/out/app.env`, "TOKEN='from the file'\n");
  await it.host.clock.advance(2000);
  assert.deepEqual(states(it), ['main: running']);
  assert.deepEqual(environments(it)['main'], { T: 'from the file' });
});

test('a file that escapes its volume is not read', async () => {
  await using it = await startAgent();
  await it.host.fs.makeDirectory('/etc');
  await it.host.fs.writeFile('/etc/app.env', "TOKEN='outside'\n");
  it.runtime.behaviours.set('writer', { exits: { afterMs: 1000, code: 0 } });
  const fileKeyRef = { volumeName: 'vars', path: 'app.env', key: 'TOKEN', optional: true };
  const pod = staticPod({
    volumes: [{ name: 'vars', emptyDir: {} }],
    initContainers: [container('writer', { volumeMounts: [{ name: 'vars', mountPath: '/vars' }] })],
    containers: [container('main', { env: [{ name: 'T', valueFrom: { fileKeyRef } }] })],
  });
  it.source.set(pod);
  await it.host.clock.advance(NO_TIME_MS);
  const folder = `${SETTINGS.rootDir}/pods/${pod.metadata.uid}/volumes/kubernetes.io~empty-dir/vars`;
  await it.host.fs.symbolicLink('/etc/app.env', `${folder}/app.env`);
  await it.host.clock.advance(2000);
  assert.deepEqual(states(it), ["main: CreateContainerConfigError: couldn't parse env file"]);
});
