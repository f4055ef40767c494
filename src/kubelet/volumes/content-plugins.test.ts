import assert from 'node:assert/strict';
import test from 'node:test';
import { exampleContainer, examplePod } from '../sync/config/pod.fixture.ts';
import { nestedMountPoints } from './content-plugins.ts';

const cases: Record<string, { mounts: Readonly<Record<string, string>>[]; folders: string[] }> = {
  'empty without nested mounts': { mounts: [{ own: '/etc/app', other: '/etc/application' }], folders: [] },
  'the mount point of a nested volume': {
    mounts: [{ own: '/etc/app', other: '/etc/app/sub/dir' }],
    folders: ['sub/dir'],
  },
  'only the outermost mount point': {
    mounts: [{ own: '/a', one: '/a/b', two: '/a/b/c', three: '/a/b-c', four: '/a/d/e' }],
    folders: ['b', 'b-c', 'd/e'],
  },
  'the mount points of all containers': {
    mounts: [
      { own: '/a', other: '/a/b' },
      { own: '/x/', other: '/x/./c' },
    ],
    folders: ['b', 'c'],
  },
  'mount points below a volume at the root': { mounts: [{ own: '/', other: '/data' }], folders: ['data'] },
  'never outside the volume': { mounts: [{ own: '/a/../b', other: '/b/../../etc' }], folders: [] },
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
