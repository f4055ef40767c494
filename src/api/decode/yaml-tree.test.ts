import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseYaml, resolvePlainScalar, type YamlNode, type YamlValue } from './yaml-tree.ts';

const cases: [string, YamlValue][] = [
  ['', null],
  ['~', null],
  ['null', null],
  ['true', true],
  ['on', true],
  ['y', true],
  ['No', false],
  ['OFF', false],
  ['yEs', 'yEs'],
  ['12', 12],
  ['-12', -12],
  ['+12', 12],
  ['1_000', 1000],
  ['0644', 420],
  ['0o644', 420],
  ['0x1F', 31],
  ['0b11', 3],
  ['089', 89],
  ['9223372036854775807', 9223372036854775807n],
  ['1.0', 1],
  ['.5', 0.5],
  ['1e3', 1000],
  ['12:30', '12:30'],
  ['2026-11-15', '2026-11-15'],
  ['1.2.3', '1.2.3'],
  ['100Mi', '100Mi'],
  ['-', '-'],
  ['_1', '_1'],
];

for (const [source, value] of cases) {
  test(`resolvePlainScalar() takes ${source || 'nothing'} for ${typeof value} ${value}`, () => {
    assert.equal(resolvePlainScalar(source), value);
  });
}

/** The values of one document. */
function valuesOf(text: string): unknown {
  const [document] = parseYaml(text).documents;
  return document && 'node' in document ? plainValue(document.node) : document?.errors.map(({ message }) => message);
}

function plainValue(node: YamlNode): unknown {
  if (node.kind === 'list') return node.items.map(plainValue);
  if (node.kind === 'scalar') return node.value;
  return Object.fromEntries([...node.entries].map(([key, entry]) => [key, plainValue(entry.node)]));
}

test('parseYaml() resolves an alias to the last anchor before it', () => {
  assert.deepEqual(valuesOf('[&a 1, *a, &b [&a 2, *a], *a, *b, &a 3, *b, *a]'), [
    1,
    1,
    [2, 2],
    2,
    [2, 2],
    3,
    [2, 2],
    3,
  ]);
  assert.deepEqual(valuesOf('{<<: *a}'), ['unknown anchor "a" referenced']);
  assert.deepEqual(valuesOf('[*a, &a 1]'), ['unknown anchor "a" referenced']);
});
