import assert from 'node:assert/strict';
import test from 'node:test';
import { innermostFirst } from './mount-points.ts';

const cases: Record<string, { mountPoints: readonly string[]; groups: readonly (readonly string[])[] }> = {
  'nothing of nothing': { mountPoints: [], groups: [] },
  'all at once, where none carries another': { mountPoints: ['/a', '/ab', '/c/d'], groups: [['/a', '/ab', '/c/d']] },
  'what is carried before what carries it': {
    mountPoints: ['/a', '/a/b', '/c', '/a/b/c/d', '/a/b/e'],
    groups: [['/c', '/a/b/c/d', '/a/b/e'], ['/a/b'], ['/a']],
  },
  'one place as often as something is mounted there': { mountPoints: ['/a', '/a'], groups: [['/a', '/a']] },
};

for (const [what, { mountPoints, groups }] of Object.entries(cases)) {
  test(`innermostFirst() is ${what}`, () => {
    assert.deepEqual(innermostFirst(mountPoints), groups);
  });
}
