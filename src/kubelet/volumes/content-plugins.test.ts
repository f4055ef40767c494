import assert from 'node:assert/strict';
import test from 'node:test';
import { exampleContainer, examplePod } from '../sync/config/pod.fixture.ts';
import { nestedMountPoints } from './content-plugins.ts';

const cases: Record<string, { mounts: Readonly<Record<string, string>>[]; folders: string[] }> = {
  'nothing where nothing is inside': { mounts: [{ own: '/etc/app', other: '/etc/application' }], folders: [] },
  'the place of another volume': { mounts: [{ own: '/etc/app', other: '/etc/app/sub/dir' }], folders: ['sub/dir'] },
  'only the outermost place': {
    mounts: [{ own: '/a', one: '/a/b', two: '/a/b/c', three: '/a/b-c', four: '/a/d/e' }],
    folders: ['b', 'b-c', 'd/e'],
  },
  'places in each container': {
    mounts: [
      { own: '/a', other: '/a/b' },
      { own: '/x/', other: '/x/./c' },
    ],
    folders: ['b', 'c'],
  },
  'places below a volume at the root': { mounts: [{ own: '/', other: '/data' }], folders: ['data'] },
  'no way out': { mounts: [{ own: '/a/../b', other: '/b/../../etc' }], folders: [] },
};

for (const [what, { mounts, folders }] of Object.entries(cases)) {
  test(`nestedMountPoints() is ${what}`, () => {
    const containers = mounts.map((each, index) => ({
      ...exampleContainer,
      name: `c${index}`,
      volumeMounts: Object.entries(each).map(([name, mountPath]) => ({ name, mountPath })),
    }));
    assert.deepEqual(nestedMountPoints('own', examplePod({ spec: { containers } })), folders);
  });
}
