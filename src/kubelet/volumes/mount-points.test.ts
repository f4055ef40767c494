import assert from 'node:assert/strict';
import test from 'node:test';
import { innermostFirst } from './mount-points.ts';

const cases: Record<string, { mountPoints: readonly string[]; groups: readonly (readonly string[])[] }> = {
  'empty without mount points': { mountPoints: [], groups: [] },
  'one group if no mount point contains another': {
    mountPoints: ['/a', '/ab', '/c/d'],
    groups: [['/a', '/ab', '/c/d']],
  },
  'nested mount points before their parents': {
    mountPoints: ['/a', '/a/b', '/c', '/a/b/c/d', '/a/b/e'],
    groups: [['/c', '/a/b/c/d', '/a/b/e'], ['/a/b'], ['/a']],
  },
  'a path once for each mount on it': { mountPoints: ['/a', '/a'], groups: [['/a', '/a']] },
};

for (const [what, { mountPoints, groups }] of Object.entries(cases)) {
  test(`innermostFirst() is ${what}`, () => {
    assert.deepEqual(innermostFirst(mountPoints), groups);
  });
}
