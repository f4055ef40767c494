import assert from 'node:assert/strict';
import { test } from 'node:test';
import { LinuxContainerResources } from '../../cri/generated/runtime-v1.ts';
import type { OciResources } from '../oci/oci-spec.ts';
import { mergeResources } from './resources.ts';
import { differences, MACHINE } from './testing/valid-request.ts';

const current: OciResources = {
  devices: [{ allow: false, access: 'rwm' }],
  cpu: { shares: 512, quota: 50_000, period: 100_000, cpus: '0' },
  memory: { limit: 1000, swap: 1000, reservation: 10 },
  hugepageLimits: [{ pageSize: '2MB', limit: 1 }],
  unified: { 'memory.high': '900' },
};
const v2 = { ...MACHINE, cgroupVersion: 'v2' } as const;

const cases: Record<string, { update: Partial<LinuxContainerResources>; differs: Record<string, unknown> }> = {
  'leaves zero fields unchanged': { update: {}, differs: {} },
  'changes the share of the processors': { update: { cpuShares: 2n }, differs: { 'cpu.shares': 2 } },
  'lifts a quota': { update: { cpuQuota: -1n }, differs: { 'cpu.quota': -1 } },
  'moves to other processors': {
    update: { cpusetCpus: '1-3', cpusetMems: '0' },
    differs: { 'cpu.cpus': '1-3', 'cpu.mems': '0' },
  },
  'adapts swap to memory': {
    update: { memoryLimitInBytes: 5n },
    differs: { 'memory.limit': 5, 'memory.swap': 5 },
  },
  'allows swap': {
    update: { memoryLimitInBytes: 5n, memorySwapLimitInBytes: 9n },
    differs: { 'memory.limit': 5, 'memory.swap': 9 },
  },
  'leaves swap to the file of cgroups v2 that limits it': {
    update: { memoryLimitInBytes: 5n, unified: { 'memory.swap.max': '7' } },
    differs: { 'memory.limit': 5, 'memory.swap': undefined, 'unified.memory.swap.max': '7' },
  },
  'changes one size of huge pages and adds another': {
    update: {
      hugepageLimits: [
        { pageSize: '2MB', limit: 7n },
        { pageSize: '1GB', limit: 8n },
      ],
    },
    differs: {
      hugepageLimits: [
        { pageSize: '2MB', limit: 7 },
        { pageSize: '1GB', limit: 8 },
      ],
    },
  },
  'changes files of cgroups v2': {
    update: { unified: { 'memory.high': '800', 'memory.min': '1' } },
    differs: { 'unified.memory.high': '800', 'unified.memory.min': '1' },
  },
};

for (const [name, { update, differs }] of Object.entries(cases)) {
  test(`mergeResources() ${name}`, () => {
    const updated = mergeResources(current, LinuxContainerResources.fromPartial(update), v2);
    assert.deepEqual(differences(current, updated), differs);
  });
}

test('mergeResources() names the unsupported field of the request', () => {
  const update = LinuxContainerResources.fromPartial({ unified: { 'memory.high': '800' } });
  const why = 'not supported with cgroup v1';
  assert.throws(() => mergeResources(current, update, { ...v2, cgroupVersion: 'v1' }), {
    code: 'InvalidArgument',
    message: `linux.unified: ${why}`,
  });
});
