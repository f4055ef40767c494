import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ResourceRequirements } from '../../api/generated/core-v1.ts';
import { fnv1a32 } from '../../base/go/fnv.ts';
import { ACTUATED_BY_KUBELET, ALLOCATED_BY_KUBELET } from './kubelet-state.fixture.ts';
import { decodeResources, encodeResources, requirementsText } from './resources-checkpoint.ts';

for (const [name, text] of Object.entries({ ALLOCATED_BY_KUBELET, ACTUATED_BY_KUBELET })) {
  test(`kubelet’s file is decoded and encoded to the same bytes: ${name}`, () => {
    assert.equal(encodeResources(decodeResources(text)), text);
  });
}

test('decodeResources() finds kubelet’s resources of containers and pods', () => {
  const pods = decodeResources(ACTUATED_BY_KUBELET);
  assert.deepEqual(pods.get('bb33d7a5-465b-4b69-a15d-b1949fdf6cce'), {
    containers: new Map([['main', { limits: { cpu: '200m', memory: '64Mi' }, requests: { cpu: '50m' } }]]),
    pod: { limits: { cpu: '200m', memory: '64Mi' }, requests: { cpu: '100m', memory: '32Mi' } },
  });
  assert.deepEqual(pods.get('e135d657-6cf4-4632-904b-a5e83c86b73d')?.containers.get('main'), {
    limits: { cpu: '0', memory: '80Mi' }, // kubelet resizes memory and CPU one after the other, and fills in the rest
    requests: { cpu: '70m', memory: '16Mi' },
  });
});

/** From kubelet’s tests: a release before pod-level resources. */
const WITHOUT_POD_LEVEL =
  '{"data":"{\\"entries\\":{\\"pod1\\":{\\"ContainerResources\\":{\\"container1\\":{\\"requests\\":{\\"cpu\\":\\"1Ki\\",\\"memory\\":\\"1Ki\\"}}}}}}","checksum":1178570812}';

test('decodeResources() reads the file of an older release', () => {
  const requests = { cpu: '1Ki', memory: '1Ki' };
  const expected = new Map([['pod1', { containers: new Map([['container1', { requests }]]) }]]);
  assert.deepEqual(decodeResources(WITHOUT_POD_LEVEL), expected);
});

/** With the matching hash. */
function fileOf(data: string): string {
  return JSON.stringify({ data, checksum: fnv1a32(`(string)${data}`) });
}

test('decodeResources() ignores unknown fields', () => {
  const older = fileOf('{"allocationEntries":{"pod1":{"main":{"requests":{"cpu":"1"}}}}}');
  assert.deepEqual(decodeResources(older), new Map());
  assert.deepEqual(
    decodeResources(fileOf('{"entries":{"pod1":null}}')),
    new Map([['pod1', { containers: new Map() }]]),
  );
});

const broken: Record<string, { text: string; message: RegExp | string }> = {
  'a different hash': { text: '{"data":"{}","checksum":1}', message: /^checkpoint is corrupted$/ },
  'no hash': { text: '{"data":"{}"}', message: /^checkpoint is corrupted$/ },
  null: { text: 'null', message: /^checkpoint is corrupted$/ },
  'no JSON': { text: 'x', message: "invalid character 'x' looking for beginning of value" },
  nothing: { text: '', message: 'unexpected end of JSON input' },
  'truncated text': { text: WITHOUT_POD_LEVEL.slice(0, 80), message: 'unexpected end of JSON input' },
  'a list': { text: '[]', message: /^not a JSON object$/ },
  'data that is not a string': { text: '{"data":{},"checksum":1}', message: /^data is not a string$/ },
  'a number for a pod': { text: fileOf('{"entries":{"pod1":1}}'), message: /^not a JSON object$/ },
  'an invalid amount': {
    text: fileOf('{"entries":{"p":{"ContainerResources":{"c":{"limits":{"cpu":"much"}}}}}}'),
    message: /^quantities must match/,
  },
};

for (const [what, { text, message }] of Object.entries(broken)) {
  test(`decodeResources() rejects ${what}`, () => {
    assert.throws(() => decodeResources(text), { message });
  });
}

const texts: Record<string, { given: ResourceRequirements; text: string }> = {
  'omits empty lists': { given: { limits: {}, requests: {}, claims: [] }, text: '{}' },
  'writes limits first and names in order': {
    given: { requests: { memory: '1Gi', cpu: '1' }, limits: { cpu: 2 } },
    text: '{"limits":{"cpu":"2"},"requests":{"cpu":"1","memory":"1Gi"}}',
  },
  'writes quantities as Go does': {
    given: { requests: { cpu: '0.05', memory: '16384Ki' } },
    text: '{"requests":{"cpu":"50m","memory":"16Mi"}}',
  },
  'writes claims last': {
    given: { claims: [{ name: 'gpu', request: 'one' }, { name: 'net' }], limits: { cpu: '1' } },
    text: '{"limits":{"cpu":"1"},"claims":[{"name":"gpu","request":"one"},{"name":"net"}]}',
  },
};

for (const [what, { given, text }] of Object.entries(texts)) {
  test(`requirementsText() ${what}`, () => assert.equal(requirementsText(given), text));
}

test('encodeResources() sorts numeric names as strings', () => {
  const pods = new Map([
    [
      'u',
      {
        containers: new Map([
          ['9', {}],
          ['10', {}],
        ]),
      },
    ],
  ]);
  assert.match(encodeResources(pods), /\{\\"10\\":\{\},\\"9\\":\{\}\}/);
});
