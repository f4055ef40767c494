/** Variables from objects and files, and kubelet's messages for errors. */
import assert from 'node:assert/strict';
import test from 'node:test';
import type { ConfigMap, Container, EnvVarSource, Secret } from '../../../api/generated/core-v1.ts';
import { type EnvironmentSources, NO_SOURCES, type ObjectLookup } from './env-sources.ts';
import { containerEnvironment, expandReferences } from './environment.ts';
import { examplePod } from './pod.fixture.ts';

const metadata = { name: 'any' };
const base64 = (text: string | Uint8Array): string => Buffer.from(text).toString('base64');
const found = <T>(value: T): ObjectLookup<T> => ({ kind: 'found', value });
const missing: ObjectLookup<never> = { kind: 'failed', message: 'configmap "absent" not found', isMissing: true };
const unknown: ObjectLookup<never> = {
  kind: 'failed',
  message: 'failed to sync secret cache: timed out waiting for the condition',
  isMissing: false,
};

const sources: EnvironmentSources = {
  services: new Map([
    ['KUBERNETES_SERVICE_HOST', '10.0.0.1'],
    ['color', 'service'],
  ]),
  configMaps: new Map<string, ObjectLookup<ConfigMap>>([
    ['settings', found({ metadata, data: { color: 'red', size: '$(color) grün', constructor: 'c' } })],
    ['more', found({ metadata, data: { color: 'blue', 'a.b-c': 'odd' }, binaryData: { raw: base64('x') } })],
    ['empty', found({ metadata })],
    ['absent', missing],
  ]),
  secrets: new Map<string, ObjectLookup<Secret>>([
    ['login', found({ metadata, data: { user: base64('me'), color: base64('green') } })],
    ['absent', { ...missing, message: 'secret "absent" not found' }],
    ['unknown', unknown],
  ]),
  files: new Map([
    ['vars/app.env', { kind: 'found', path: '/pods/vars/app.env', bytes: Buffer.from("A='from file'\nB=''\n") }],
    ['vars/bad.env', { kind: 'found', path: '/pods/vars/bad.env', bytes: Buffer.from('A=1') }],
    ['vars/none.env', { kind: 'unreadable' }],
    ['nope/app.env', { kind: 'noVolume' }],
  ]),
};

function environmentOf(container: Partial<Container>, from = sources) {
  const pod = examplePod({ container });
  const [first] = pod.spec.containers;
  assert.ok(first);
  return containerEnvironment({ pod, container: first, podIPs: [], hostIPs: [], allocatable: {}, sources: from });
}

function textsOf(container: Partial<Container>): Record<string, string> {
  const environment = environmentOf(container, { ...sources, services: new Map() });
  return Object.fromEntries(Array.from(environment, ([name, value]) => [name, new TextDecoder().decode(value)]));
}

const configMap = (name: string, key: string, optional?: boolean): EnvVarSource => ({
  configMapKeyRef: { name, key, optional },
});
const secret = (name: string, key: string, optional?: boolean): EnvVarSource => ({
  secretKeyRef: { name, key, optional },
});
const file = (path: string, key: string, optional?: boolean): EnvVarSource => {
  const [volumeName = '', ...rest] = path.split('/');
  return { fileKeyRef: { volumeName, path: rest.join('/'), key, optional } };
};
const variable = (valueFrom: EnvVarSource): Partial<Container> => ({ env: [{ name: 'X', valueFrom }] });

const given: Record<string, { container: Partial<Container>; gives: Record<string, string> }> = {
  'a key of a ConfigMap': { container: variable(configMap('settings', 'color')), gives: { X: 'red' } },
  'a value that is not expanded': { container: variable(configMap('settings', 'size')), gives: { X: '$(color) grün' } },
  'a key that every object has': { container: variable(configMap('settings', 'constructor')), gives: { X: 'c' } },
  'a key of a Secret': { container: variable(secret('login', 'user')), gives: { X: 'me' } },
  'a key of a file': { container: variable(file('vars/app.env', 'A')), gives: { X: 'from file' } },
  'nothing for an optional ConfigMap that is missing': {
    container: variable(configMap('absent', 'k', true)),
    gives: {},
  },
  'nothing for an optional key that is missing': { container: variable(configMap('settings', 'k', true)), gives: {} },
  'nothing for an optional key of a ConfigMap without data': {
    container: variable(configMap('empty', 'k', true)),
    gives: {},
  },
  'nothing for an optional Secret that is missing': { container: variable(secret('absent', 'k', true)), gives: {} },
  'nothing for an optional key of a Secret': { container: variable(secret('login', 'k', true)), gives: {} },
  'nothing for an optional key of a file': { container: variable(file('vars/app.env', 'Z', true)), gives: {} },
  'nothing for an optional key that is empty in the file': {
    container: variable(file('vars/app.env', 'B', true)),
    gives: {},
  },
  'whole objects in their order, the later winning': {
    container: { envFrom: [{ configMapRef: { name: 'settings' } }, { configMapRef: { name: 'more' } }] },
    gives: { color: 'blue', size: '$(color) grün', constructor: 'c', 'a.b-c': 'odd' },
  },
  'a whole Secret with a prefix': {
    container: { envFrom: [{ prefix: 'DB_', secretRef: { name: 'login' } }] },
    gives: { DB_user: 'me', DB_color: 'green' },
  },
  'nothing of optional objects that are missing': {
    container: {
      envFrom: [
        { configMapRef: { name: 'absent', optional: true } },
        { secretRef: { name: 'absent', optional: true } },
      ],
    },
    gives: {},
  },
  'declared variables over those of whole objects, which they may refer to': {
    container: {
      envFrom: [{ secretRef: { name: 'login' } }],
      env: [
        { name: 'X', value: '$(user)/$(color)' },
        { name: 'color', value: 'own' },
        { name: 'user', valueFrom: configMap('settings', 'nope', true) },
      ],
    },
    gives: { user: 'me', color: 'own', X: 'me/green' },
  },
};

for (const [what, { container, gives }] of Object.entries(given)) {
  test(`containerEnvironment() gives ${what}`, () => {
    assert.deepEqual(textsOf(container), gives);
  });
}

const rejected: Record<string, { container: Partial<Container>; message: string }> = {
  'a ConfigMap that is missing': {
    container: variable(configMap('absent', 'k')),
    message: 'configmap "absent" not found',
  },
  'a whole Secret that is missing': {
    container: { envFrom: [{ secretRef: { name: 'absent' } }] },
    message: 'secret "absent" not found',
  },
  'an object that cannot be looked up, optional or not': {
    container: variable(secret('unknown', 'k', true)),
    message: 'failed to sync secret cache: timed out waiting for the condition',
  },
  'a key that a ConfigMap does not have': {
    container: variable(configMap('settings', 'k')),
    message: "couldn't find key k in ConfigMap default/settings",
  },
  'a key that stands in binaryData': {
    container: variable(configMap('more', 'raw')),
    message: "couldn't find key raw in ConfigMap default/more",
  },
  'a key that a Secret does not have': {
    container: variable(secret('login', 'toString')),
    message: "couldn't find key toString in Secret default/login",
  },
  'a file in a volume that the pod does not have': {
    container: variable(file('nope/app.env', 'A', true)),
    message: 'cannot find the volume "nope" referenced by FileKeyRef',
  },
  'a file that is not there, optional or not': {
    container: variable(file('vars/none.env', 'A', true)),
    message: "couldn't parse env file",
  },
  'an invalid environment file': {
    container: variable(file('vars/bad.env', 'A')),
    message: "couldn't parse env file",
  },
  'a key that a file does not have': {
    container: variable(file('vars/app.env', 'Z')),
    message: 'environment variable key "Z" not found in file "/pods/vars/app.env"',
  },
  'the first of several errors': {
    container: {
      env: [
        { name: 'A', valueFrom: configMap('settings', 'nope') },
        { name: 'B', valueFrom: secret('absent', 'k') },
      ],
    },
    message: "couldn't find key nope in ConfigMap default/settings",
  },
};

for (const [what, { container, message }] of Object.entries(rejected)) {
  test(`containerEnvironment() rejects ${what}`, () => {
    assert.throws(() => environmentOf(container), { message });
  });
}

test('containerEnvironment() keeps the bytes of a Secret, also in references', () => {
  const bytes = Uint8Array.of(0xff, 0x00, 0x24, 0x80);
  const from = {
    ...NO_SOURCES,
    secrets: new Map([['raw', found({ metadata, data: { key: base64(bytes) } })]]),
  };
  const env = [
    { name: 'RAW', valueFrom: secret('raw', 'key') },
    { name: 'WRAPPED', value: 'é$(RAW)$$' },
  ];
  const environment = environmentOf({ env }, from);
  assert.deepEqual(
    Array.from(environment, ([name, value]) => [name, [...value]]),
    [
      ['RAW', [...bytes]],
      ['WRAPPED', [0xc3, 0xa9, ...bytes, 0x24]],
    ],
  );
  assert.equal(
    expandReferences(environmentOf({ env: [{ name: 'A', value: 'grün' }] }, NO_SOURCES), '[$(A)] $(B)'),
    '[grün] $(B)',
  );
});

test('containerEnvironment() leaves a file variable empty while the gate is off', () => {
  const pod = examplePod({ container: variable(file('vars/none.env', 'A')) });
  const [container] = pod.spec.containers;
  assert.ok(container);
  const input = { pod, container, podIPs: [], hostIPs: [], allocatable: {}, sources: NO_SOURCES, envFiles: false };
  assert.deepEqual([...containerEnvironment(input)], [['X', Buffer.from('')]]);
});

test('containerEnvironment() prefers envFrom to services', () => {
  const environment = environmentOf({ envFrom: [{ configMapRef: { name: 'more' } }] });
  assert.deepEqual([...environment.keys()], ['color', 'a.b-c', 'KUBERNETES_SERVICE_HOST']);
  assert.equal(new TextDecoder().decode(environment.get('color')), 'blue');
});
