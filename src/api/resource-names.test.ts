import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isExtendedResource, isScalarResource } from './resource-names.ts';

const NAMES: readonly (readonly [name: string, isExtended: boolean, isScalar: boolean])[] = [
  ['example.com/gpu', true, true],
  ['example.com/GPU_2.x', true, true],
  ['cpu', false, false],
  ['memory', false, false],
  ['gpu', false, false],
  ['hugepages-2Mi', false, true],
  ['attachable-volumes-aws-ebs', false, true],
  ['kubernetes.io/batch-cpu', false, true],
  ['sub.kubernetes.io/thing', false, true],
  ['requests.example.com/gpu', false, false],
  ['Example.com/gpu', false, false],
  ['example.com/a/b', false, false],
  [`example.com/${'g'.repeat(64)}`, false, false],
  [`${'e'.repeat(250)}.io/gpu`, false, false],
];

for (const [name, isExtended, isScalar] of NAMES) {
  test(`isExtendedResource() and isScalarResource() of ${name.slice(0, 40)}`, () => {
    assert.deepEqual([isExtendedResource(name), isScalarResource(name)], [isExtended, isScalar]);
  });
}
