import assert from 'node:assert/strict';
import { test } from 'node:test';
import { processCgroup } from './process-cgroup.ts';

const cases: Record<string, { text: string; version: 'v1' | 'v2'; wanted: string | undefined }> = {
  'version 2': { text: '0::/system.slice/kubelet.service\n', version: 'v2', wanted: '/system.slice/kubelet.service' },
  'version 1': { text: '3:cpu,cpuacct:/agent\n4:memory:/agent\n0::/\n', version: 'v1', wanted: '/agent' },
  'version 1 with systemd': {
    text: '3:cpu,cpuacct:/\n4:memory:/\n1:name=systemd:/system.slice/kubelet.service\n',
    version: 'v1',
    wanted: '/system.slice/kubelet.service',
  },
  'version 1 with different cgroups of CPU and memory': {
    text: '3:cpu:/a\n4:memory:/b\n',
    version: 'v1',
    wanted: undefined,
  },
  'no such controller': { text: '4:memory:/b\n', version: 'v1', wanted: undefined },
};

for (const [name, { text, version, wanted }] of Object.entries(cases)) {
  test(`processCgroup(): ${name}`, () => assert.equal(processCgroup(text, version), wanted));
}
