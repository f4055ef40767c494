import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseMountinfo } from '../proc/mountinfo.ts';
import { cgroupHierarchies } from './cgroup-v1.ts';

const ROOT = '31 23 0:28 / /sys/fs/cgroup rw,relatime - tmpfs tmpfs rw,mode=755';
const CPU = '32 31 0:29 / /sys/fs/cgroup/cpu,cpuacct rw,relatime - cgroup cgroup rw,cpu,cpuacct';
const HUGETLB = '42 31 0:39 / /sys/fs/cgroup/hugetlb rw,relatime - cgroup cgroup rw,hugetlb';

const cases: Record<string, { readonly lines: readonly string[]; readonly found: readonly string[] }> = {
  'each controller, the tree of systemd and a version 2 tree': {
    lines: [
      ROOT,
      CPU,
      '40 31 0:37 / /sys/fs/cgroup/systemd rw,relatime - cgroup cgroup rw,name=systemd',
      '41 31 0:38 / /sys/fs/cgroup/unified rw,relatime - cgroup2 cgroup2 rw',
    ],
    found: ['cpu,cpuacct', 'systemd', 'unified'],
  },
  'a hierarchy that was mounted later': { lines: [ROOT, CPU, HUGETLB], found: ['cpu,cpuacct', 'hugetlb'] },
  'no folder of an unmounted hierarchy': { lines: [ROOT, CPU], found: ['cpu,cpuacct'] },
  'a hierarchy that is mounted twice, once': { lines: [ROOT, HUGETLB, HUGETLB], found: ['hugetlb'] },
  'no hierarchy that another filesystem is mounted over': {
    lines: [ROOT, HUGETLB, '43 42 0:40 / /sys/fs/cgroup/hugetlb rw - tmpfs tmpfs rw'],
    found: [],
  },
  'no mount inside a hierarchy, nor one elsewhere': {
    lines: [
      ROOT,
      '44 32 0:29 /a /sys/fs/cgroup/cpu,cpuacct/a rw - cgroup cgroup rw,cpu,cpuacct',
      '45 23 0:29 / /mnt/cgroup/cpu rw - cgroup cgroup rw,cpu,cpuacct',
    ],
    found: [],
  },
};

for (const [name, { lines, found }] of Object.entries(cases)) {
  test(`cgroupHierarchies() finds ${name}`, () => {
    assert.deepEqual(
      cgroupHierarchies('/sys/fs/cgroup', parseMountinfo(lines.join('\n'))),
      found.map((folder) => `/sys/fs/cgroup/${folder}`),
    );
  });
}
