import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import { parseApiTable, reachable } from './api-table.ts';
import { apiTable } from './extract-api-table.ts';
import { generateApi } from './generate-api.ts';

const definitions = {
  'io.k8s.api.core.v1.Pod': {
    properties: {
      spec: { $ref: '#/definitions/io.k8s.api.core.v1.PodSpec' },
      metadata: { $ref: '#/definitions/io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta' },
    },
    'x-kubernetes-group-version-kind': [{ group: '', version: 'v1', kind: 'Pod' }],
  },
  'io.k8s.api.core.v1.PodSpec': {
    properties: { containers: { items: { type: 'string' } }, priority: { type: 'integer', format: 'int32' } },
    required: ['containers'],
  },
  'io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta': {
    properties: { labels: { additionalProperties: { type: 'string' } } },
  },
  'io.k8s.api.core.v1.Unused': {},
};

const TABLE = `kind	Pod	v1
message	ObjectMeta
field	ObjectMeta	labels	string	map	optional
message	Pod
field	Pod	metadata	ObjectMeta	single	optional
field	Pod	spec	PodSpec	single	optional
message	PodSpec
field	PodSpec	containers	string	list	required
field	PodSpec	priority	int32	single	optional
`;

test('apiTable() contains the messages reachable from a kind, sorted', () => {
  assert.equal(apiTable(definitions, ['io.k8s.api.core.v1.Pod']), TABLE);
});

test('parseApiTable() reads it back', () => {
  const table = parseApiTable(TABLE);
  assert.deepEqual([...table.kinds], [['Pod', 'v1']]);
  assert.deepEqual(table.messages.get('PodSpec'), [
    { name: 'containers', type: 'string', shape: 'list', required: true },
    { name: 'priority', type: 'int32', shape: 'single', required: false },
  ]);
  assert.deepEqual(reachable(table, ['Pod']), ['ObjectMeta', 'Pod', 'PodSpec']);
});

test('parseApiTable() names the invalid line', () => {
  assert.throws(() => parseApiTable('message\tA\nfeild\tA\n'), /cannot read line 2 of the API table/);
});

test('generateApi() writes the same files each time', () => {
  const root = join(import.meta.dirname, '..');
  const { files } = generateApi(root);
  assert.deepEqual([...files.keys()], ['src/api/generated/core-v1.ts', 'src/api/generated/core-v1-schema.ts']);
  assert.deepEqual(generateApi(root).files, files);
  const types = files.get('src/api/generated/core-v1.ts') ?? '';
  assert.match(types, /export interface Pod \{[^}]*readonly metadata: PodMeta;\n {2}readonly spec: PodSpec;/);
});
