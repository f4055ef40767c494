import assert from 'node:assert/strict';
import { test } from 'node:test';
import { decodeManifest } from './decode-manifest.ts';
import { formatManifestError } from './manifest-error.ts';

const WEB = `apiVersion: v1
kind: Pod
metadata:
  name: web
spec:
  containers:
    - name: web
      image: busybox
`;

const web = {
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name: 'web', namespace: '', uid: '' },
  spec: { containers: [{ name: 'web', image: 'busybox' }] },
};

function decode(text: string) {
  const { pods, configMaps, secrets, runtimeClasses, errors } = decodeManifest(text, { file: 'web.yaml' });
  return {
    pods: pods.map(({ object }) => object),
    configMaps: configMaps.map(({ object }) => object),
    secrets: secrets.map(({ object }) => object),
    runtimeClasses: runtimeClasses.map(({ object }) => object),
    errors: errors.map(formatManifestError),
  };
}

const nothing = { pods: [], configMaps: [], secrets: [], runtimeClasses: [], errors: [] };
const container = (more: string) => `${WEB}${more.replace(/^/gm, '      ')}\n`;
const withContainer = (more: object) => ({
  ...web,
  spec: { containers: [{ name: 'web', image: 'busybox', ...more }] },
});

const accepted: Record<string, { text: string; gives: Partial<ReturnType<typeof decode>> }> = {
  'a pod': { text: WEB, gives: { pods: [web] } },
  'a pod in JSON with tabs': { text: JSON.stringify(web, null, '\t'), gives: { pods: [web] } },
  'a pod with Windows line ends and a byte order mark': {
    text: `\uFEFF${WEB.replaceAll('\n', '\r\n')}`,
    gives: { pods: [web] },
  },
  'several documents, some of them empty': {
    text: `---\n# first\n---\n${WEB}---\n---\n${WEB}...\n`,
    gives: { pods: [web, web] },
  },
  'nothing at all': { text: '', gives: {} },
  'null as left out': {
    text: container('command: null\nresources:'),
    gives: { pods: [web] },
  },
  'null timestamps and other metadata as generators write them': {
    text: WEB.replace('  name: web\nspec', '  name: web\n  creationTimestamp: null\nspec'),
    gives: { pods: [web] },
  },
  'a quantity as text or number': {
    text: container('resources: {limits: {cpu: 0.5, memory: 100Mi, "x.io/y": 9223372036854775807}}'),
    gives: {
      pods: [
        withContainer({ resources: { limits: { cpu: '0.5', memory: '100Mi', 'x.io/y': '9223372036854775807' } } }),
      ],
    },
  },
  'an octal mode, and a port by name or number': {
    text: container('livenessProbe: {httpGet: {port: http}, tcpSocket: {port: 0o120}}'),
    gives: { pods: [withContainer({ livenessProbe: { httpGet: { port: 'http' }, tcpSocket: { port: 80 } } })] },
  },
  'anchors and merge keys': {
    text: container(
      'livenessProbe: &p\n  periodSeconds: 5\n  timeoutSeconds: 2\nreadinessProbe:\n  <<: *p\n  timeoutSeconds: 3',
    ),
    gives: {
      pods: [
        withContainer({
          livenessProbe: { periodSeconds: 5, timeoutSeconds: 2 },
          readinessProbe: { timeoutSeconds: 3, periodSeconds: 5 },
        }),
      ],
    },
  },
  'a list of anything it can hold': {
    text: `apiVersion: v1\nkind: List\nitems:\n- {apiVersion: v1, kind: ConfigMap, metadata: {name: c}, data: {on: "1"}}\n- {apiVersion: v1, kind: Secret, metadata: {name: s}, data: {a: YQ==, b: eA==}, stringData: {b: b}}\n`,
    gives: {
      configMaps: [{ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'c' }, data: { on: '1' } }],
      secrets: [{ apiVersion: 'v1', kind: 'Secret', metadata: { name: 's' }, data: { a: 'YQ==', b: 'Yg==' } }],
    },
  },
  'a pod list whose items leave their kind out': {
    text: JSON.stringify({
      apiVersion: 'v1',
      kind: 'PodList',
      metadata: {},
      items: [{ ...web, kind: undefined, apiVersion: undefined }],
    }),
    gives: { pods: [{ metadata: web.metadata, spec: web.spec }] },
  },
};

for (const [name, { text, gives }] of Object.entries(accepted)) {
  test(`decodeManifest() takes ${name}`, () => {
    assert.deepEqual(decode(text), { ...nothing, ...gives });
  });
}

const refused: Record<string, { text: string; errors: string[] }> = {
  'an unknown field': {
    text: container('imag: x'),
    errors: ['web.yaml:9:7: unknown field "spec.containers[0].imag"'],
  },
  'a field in the wrong case and one of every object': {
    text: container('Image: x\ntoString: y'),
    errors: [
      'web.yaml:9:7: unknown field "spec.containers[0].Image"',
      'web.yaml:10:7: unknown field "spec.containers[0].toString"',
    ],
  },
  'a field twice': {
    text: container('image: x'),
    errors: ['web.yaml:9:7: duplicate field "spec.containers[0].image"'],
  },
  'a label twice': {
    text: WEB.replace('  name: web\nspec', '  name: web\n  labels: {a: b, a: c}\nspec'),
    errors: ['web.yaml:5:18: metadata.labels[a]: duplicate field "metadata.labels.a"'],
  },
  'text that YAML reads as something else': {
    text: container('env:\n- {name: A, value: on}\n- {name: B, value: 1.0}\n- {name: C, value: 0644}'),
    errors: [
      'web.yaml:10:26: spec.containers[0].env[0].value: expected string, got boolean (quote it: "on")',
      'web.yaml:11:26: spec.containers[0].env[1].value: expected string, got number (quote it: "1.0")',
      'web.yaml:12:26: spec.containers[0].env[2].value: expected string, got number (quote it: "0644")',
    ],
  },
  'text of a Secret that YAML reads as something else, without showing it': {
    text: '{apiVersion: v1, kind: Secret, metadata: {name: s}, data: {a: 1234}, stringData: {b: 1234, c: on}}',
    errors: [
      'web.yaml:1:63: data[a]: expected string, got number (quote it)',
      'web.yaml:1:86: stringData[b]: expected string, got number (quote it)',
      'web.yaml:1:95: stringData[c]: expected string, got boolean (quote it)',
    ],
  },
  'numbers that are text, broken, or too large': {
    text: container('ports:\n- containerPort: "80"\n- containerPort: 80.5\n- containerPort: 4294967296'),
    errors: [
      'web.yaml:10:24: spec.containers[0].ports[0].containerPort: expected integer, got string "80"',
      'web.yaml:11:24: spec.containers[0].ports[1].containerPort: expected integer, got number 80.5',
      'web.yaml:12:24: spec.containers[0].ports[2].containerPort: number 4294967296 does not fit int32',
    ],
  },
  'a boolean in quotes': {
    text: container('tty: "true"'),
    errors: ['web.yaml:9:12: spec.containers[0].tty: expected boolean, got string "true"'],
  },
  'a list, an object and a text in each other’s place': {
    text: container('args: -v\nenv: {A: b}\nresources: [a]\ncommand: [[a]]'),
    errors: [
      'web.yaml:9:13: spec.containers[0].args: expected array, got string',
      'web.yaml:10:12: spec.containers[0].env: expected array, got object',
      'web.yaml:11:18: spec.containers[0].resources: expected object, got array',
      'web.yaml:12:17: spec.containers[0].command[0]: expected string, got array',
    ],
  },
  'what is not a quantity, a time or base64': {
    text: `${container('resources: {limits: {cpu: 1m0s, memory: true}}').replace('  name: web\nspec', '  name: web\n  creationTimestamp: now\nspec')}---\n{apiVersion: v1, kind: Secret, metadata: {name: s}, data: {a: "?"}}`,
    errors: [
      'web.yaml:5:22: metadata.creationTimestamp: cannot parse "now" as an RFC 3339 time',
      "web.yaml:10:33: spec.containers[0].resources.limits[cpu]: quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'",
      'web.yaml:10:47: spec.containers[0].resources.limits[memory]: expected quantity, got boolean',
      'web.yaml:12:63: data[a]: expected base64 data',
    ],
  },
  'broken YAML': {
    text: 'a: [1\n',
    errors: ['web.yaml:2:1: Flow sequence in block collection must be sufficiently indented and end with a ]'],
  },
  'a tab as indentation': { text: 'a:\n\tb: 1\n', errors: ['web.yaml:2:1: Tabs are not allowed as indentation'] },
  'broken JSON': {
    text: '{"kind": "Pod"',
    errors: ['web.yaml:1:15: Flow map must end with a }'],
  },
  'an alias that holds itself': {
    text: 'a: &a [*a]\n',
    errors: ['web.yaml:1:7: document contains excessive aliasing'],
  },
  'something that is no object': { text: 'hello\n', errors: ['web.yaml:1:1: expected object, got string'] },
  'an object without kind or version': {
    text: 'metadata: {}\n---\nkind: Pod\n',
    errors: ["web.yaml:1:1: Object 'Kind' is missing", "web.yaml:3:1: Object 'apiVersion' is missing"],
  },
  'a kind it does not know': {
    text: 'apiVersion: apps/v1\nkind: Deployment\n',
    errors: [
      'web.yaml:2:7: kind "Deployment" in version "apps/v1" is not supported: a manifest may hold Pod, ConfigMap, Secret, RuntimeClass (node.k8s.io/v1), PersistentVolumeClaim, PersistentVolume and lists of them',
    ],
  },
  'an item of a list': {
    text: 'apiVersion: v1\nkind: PodList\nitems:\n- metadata: {nam: a}\n',
    errors: ['web.yaml:4:14: unknown field "items[0].metadata.nam"'],
  },
};

for (const [name, { text, errors }] of Object.entries(refused)) {
  test(`decodeManifest() refuses ${name}`, () => {
    assert.deepEqual(decode(text), { ...nothing, errors });
  });
}

test('decodeManifest() reads on after a bad document', () => {
  const { pods, errors } = decode(`${WEB}---\na: [1\n---\nkind: 1\n---\n${WEB}`);
  assert.deepEqual([pods, errors.length], [[web, web], 2]);
});

test('a decoded object knows where its fields stand', () => {
  const [pod] = decodeManifest(`---\n${WEB}`, { file: 'web.yaml' }).pods;
  const places = ['spec.containers[0].image', 'spec.containers', 'spec.containers[0].ports[1]', 'status'].map(
    (path) => {
      const place = pod?.locate(path);
      return `${place?.line}:${place?.column}`;
    },
  );
  assert.deepEqual(places, ['9:14', '7:3', '8:7', '2:1']);
});

test('a decoded object is frozen to its leaves', () => {
  const [pod] = decodeManifest(WEB, { file: 'web.yaml' }).pods;
  assert.ok(Object.isFrozen(pod?.object) && Object.isFrozen(pod?.object.spec.containers[0]));
});

test('a key named __proto__ is only a key', () => {
  const { pods } = decode(WEB.replace('  name: web\nspec', '  name: web\n  labels: {__proto__: x}\nspec'));
  assert.deepEqual(Object.keys(pods[0]?.metadata.labels ?? {}), ['__proto__']);
});
