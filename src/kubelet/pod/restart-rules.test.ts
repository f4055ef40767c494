import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Container } from '../../api/generated/core-v1.ts';
import { restartsAfter } from './restart-rules.ts';

const web: Container = { name: 'web', image: 'busybox' };
const on42 = { action: 'Restart', exitCodes: { operator: 'In', values: [42] } };
const notOn42 = { action: 'Restart', exitCodes: { operator: 'NotIn', values: [42] } };

const cases: readonly [policy: string | undefined, own: Partial<Container>, after: Record<number, boolean>][] = [
  ['Always', {}, { 0: true, 1: true }],
  ['OnFailure', {}, { 0: false, 1: true }],
  ['Never', {}, { 0: false, 1: false }],
  [undefined, {}, { 0: true, 1: true }],
  ['Never', { restartPolicy: 'Always' }, { 0: true, 1: true }],
  ['Always', { restartPolicy: 'Never' }, { 0: false, 1: false }],
  ['Always', { restartPolicy: 'OnFailure' }, { 0: false, 1: true }],
  ['Always', { restartPolicy: 'Never', restartPolicyRules: [on42] }, { 0: false, 1: false, 42: true }],
  ['Always', { restartPolicy: 'Never', restartPolicyRules: [notOn42] }, { 0: true, 1: true, 42: false }],
];

for (const [restartPolicy, own, after] of cases) {
  test(`restartsAfter() with pod policy ${restartPolicy} and ${JSON.stringify(own)}`, () => {
    const spec = { containers: [web], restartPolicy };
    const actual = Object.keys(after).map((code) => [code, restartsAfter({ ...web, ...own }, spec, Number(code))]);
    assert.deepEqual(Object.fromEntries(actual), after);
  });
}
