import assert from 'node:assert/strict';
import { test } from 'node:test';
import { resolvePlainScalar, type YamlValue } from './yaml-tree.ts';

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
