import assert from 'node:assert/strict';
import test from 'node:test';
import type { EnvVar, EnvVarSource, Pod } from '../../../api/generated/core-v1.ts';
import { NO_SOURCES } from './env-sources.ts';
import { containerEnvironment } from './environment.ts';
import { examplePod, type PodChanges } from './pod.fixture.ts';

function environmentOf(env: readonly EnvVar[], pod: Pod = examplePod(), serviceEnv: Record<string, string> = {}) {
  const [container] = pod.spec.containers;
  assert.ok(container);
  const environment = containerEnvironment({
    pod,
    container: { ...container, env },
    podIPs: ['10.88.0.5', 'fd00::5'],
    hostIPs: ['192.0.2.1', '2001:db8::1'],
    sources: { ...NO_SOURCES, services: new Map(Object.entries(serviceEnv)) },
    allocatable: { cpu: 4, memory: '8Gi', 'ephemeral-storage': '100Gi' },
  });
  return new Map(Array.from(environment, ([name, value]) => [name, new TextDecoder().decode(value)]));
}

test('containerEnvironment() expands earlier variables, then services', () => {
  const env = [
    { name: 'B', value: '$(A) $(SERVICE) $(MISSING) $$(A)' },
    { name: 'A', value: 'one' },
    { name: 'C', value: '$(A)$(B)' },
    { name: 'EMPTY', value: '' },
    { name: 'A', value: 'two $(A)' },
  ];
  assert.deepEqual(
    [...environmentOf(env, examplePod(), { SERVICE: 'tcp', C: 'hidden' })],
    [
      ['B', '$(A) tcp $(MISSING) $(A)'],
      ['A', 'two one'],
      ['C', 'one$(A) tcp $(MISSING) $(A)'],
      ['EMPTY', ''],
      ['SERVICE', 'tcp'],
    ],
  );
});

const rich: PodChanges = {
  metadata: { labels: { b: '2', a: 'x"\ny', 'é/k': '' }, annotations: { 'example.com/note': 'hi' } },
  spec: { nodeName: 'n1', serviceAccountName: 'robot', resources: { limits: { memory: '2Gi' } } },
  container: {
    resources: { requests: { cpu: '250m', memory: '100M' }, limits: { cpu: '1500m', 'hugepages-2Mi': '4Mi' } },
  },
};

const field = (fieldPath: string): EnvVarSource => ({ fieldRef: { fieldPath } });
const resource = (name: string, divisor?: string): EnvVarSource => ({ resourceFieldRef: { resource: name, divisor } });

const sources: Record<string, { from: EnvVarSource; value: string }> = {
  'the name': { from: field('metadata.name'), value: 'hello' },
  'the namespace': { from: field('metadata.namespace'), value: 'default' },
  'the UID': { from: field('metadata.uid'), value: 'u1' },
  'all labels': { from: field('metadata.labels'), value: 'a="x\\"\\ny"\nb="2"\né/k=""' },
  'one label': { from: field("metadata.labels['b']"), value: '2' },
  'a label that is not there': { from: field("metadata.labels['nope']"), value: '' },
  'a label that every object has': { from: field("metadata.labels['constructor']"), value: '' },
  'one annotation': { from: field("metadata.annotations['example.com/note']"), value: 'hi' },
  'the node': { from: field('spec.nodeName'), value: 'n1' },
  'the node, as old clients ask': { from: field('spec.host'), value: 'n1' },
  'the service account': { from: field('spec.serviceAccountName'), value: 'robot' },
  'the address': { from: field('status.podIP'), value: '10.88.0.5' },
  'all addresses': { from: field('status.podIPs'), value: '10.88.0.5,fd00::5' },
  'the node’s address': { from: field('status.hostIP'), value: '192.0.2.1' },
  'all addresses of the node': { from: field('status.hostIPs'), value: '192.0.2.1,2001:db8::1' },
  'CPUs, rounded up': { from: resource('limits.cpu'), value: '2' },
  'CPUs in thousandths': { from: resource('requests.cpu', '1m'), value: '250' },
  'memory in mebibytes, rounded up': { from: resource('requests.memory', '1Mi'), value: '96' },
  'the pod’s limit where the container has none': { from: resource('limits.memory'), value: '2147483648' },
  'the allocatable amount without any limit': { from: resource('limits.ephemeral-storage', '1Gi'), value: '100' },
  'zero for a missing request': { from: resource('requests.ephemeral-storage'), value: '0' },
  'huge pages': { from: resource('limits.hugepages-2Mi'), value: '4194304' },
};

for (const [what, { from, value }] of Object.entries(sources)) {
  test(`containerEnvironment() resolves ${what}`, () => {
    assert.equal(environmentOf([{ name: 'X', valueFrom: from }], examplePod(rich)).get('X'), value);
  });
}

const rejected: Record<string, { from: EnvVarSource; message: string }> = {
  'a field that containers cannot use': { from: field('status.phase'), message: 'unsupported fieldPath: status.phase' },
  'any other field': { from: field('spec.containers'), message: 'field label not supported: spec.containers' },
  'a key of a field that is not a map': {
    from: field("metadata.name['x']"),
    message: "field label does not support subscript: metadata.name['x']",
  },
  'an unknown resource': { from: resource('limits.pods'), message: 'unsupported container resource : limits.pods' },
  'an unknown container': {
    from: { resourceFieldRef: { containerName: 'nope', resource: 'limits.cpu' } },
    message: 'container nope not found',
  },
};

for (const [what, { from, message }] of Object.entries(rejected)) {
  test(`containerEnvironment() rejects ${what}`, () => {
    assert.throws(() => environmentOf([{ name: 'X', valueFrom: from }], examplePod(rich)), { message });
  });
}
