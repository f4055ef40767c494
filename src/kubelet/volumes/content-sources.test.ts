import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { PodSpec } from '../../api/generated/core-v1.ts';
import { examplePod } from '../sync/config/pod.fixture.ts';
import { privateContent } from './content-sources.ts';

const as = (runAsUser: number) => ({ securityContext: { runAsUser } });
const one = { name: 'a', image: 'i' };

const cases: Record<string, { spec: Partial<PodSpec>; mode: number; owner?: number }> = {
  'has the mode of the volume if no user is set': { spec: {}, mode: 0o644 },
  'belongs to the pod’s user': { spec: as(1000), mode: 0o600, owner: 1000 },
  'belongs to root if the pod runs as root': { spec: as(0), mode: 0o600, owner: 0 },
  'belongs to the common user of all containers': {
    spec: { containers: [{ ...one, ...as(5) }], initContainers: [{ ...one, name: 'b', ...as(5) }] },
    mode: 0o600,
    owner: 5,
  },
  'prefers the container’s user to the pod’s': {
    spec: { ...as(1000), containers: [{ ...one, ...as(5) }] },
    mode: 0o600,
    owner: 5,
  },
  'is readable for all if containers run as different users': {
    spec: { ...as(1000), containers: [one], initContainers: [{ ...one, name: 'b', ...as(5) }] },
    mode: 0o644,
  },
  'is readable for all if one container does not set a user': {
    spec: { containers: [{ ...one, ...as(5) }], ephemeralContainers: [{ ...one, name: 'b' }] },
    mode: 0o644,
  },
  'is private to the group of the volumes': { spec: { securityContext: { fsGroup: 7 } }, mode: 0o600 },
};

for (const [name, { spec, mode, owner }] of Object.entries(cases)) {
  test(`the file of a token or certificate ${name}`, () => {
    const content = privateContent([['token', 'abc']], 0o644, examplePod({ spec }));
    assert.deepEqual([...content], [['token', { data: Buffer.from('abc'), mode, owner }]]);
  });
}
