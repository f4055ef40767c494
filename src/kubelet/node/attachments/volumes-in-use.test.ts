import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type VolumesInUse, volumesInUse } from './volumes-in-use.ts';

const cases: Record<string, { before?: string[]; view: VolumesInUse | undefined; want: string[] }> = {
  'keeps the report while earlier volumes are unknown': { before: ['b', 'a'], view: undefined, want: ['b', 'a'] },
  'sorts volumes and has each once': { view: { used: ['b', 'a', 'b'], leftOver: [] }, want: ['a', 'b'] },
  'keeps a reported volume that is still mounted': {
    before: ['a', 'gone'],
    view: { used: ['c'], leftOver: ['a'] },
    want: ['a', 'c'],
  },
  'does not report a mounted volume that was never reported': { view: { used: [], leftOver: ['local'] }, want: [] },
  'removes what is neither used nor mounted': { before: ['a'], view: { used: [], leftOver: [] }, want: [] },
};

for (const [what, { before, view, want }] of Object.entries(cases)) {
  test(`volumesInUse() ${what}`, () => assert.deepEqual(volumesInUse(before, view), want));
}
