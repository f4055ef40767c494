import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { OciResources } from '../oci/oci-spec.ts';
import { applyResources } from './apply-resources.ts';
import { LinuxResources } from './generated/nri-v1alpha1.ts';
import { nriResources } from './nri-resources.ts';

type Change = Parameters<typeof LinuxResources.fromPartial>[0];

const base: OciResources = {
  devices: [{ allow: false }],
  memory: { limit: 100, reservation: 50 },
  cpu: { shares: 10, cpus: '0' },
  hugepageLimits: [{ pageSize: '2MB', limit: 1 }],
  unified: { 'memory.high': '1' },
};

const cases: Record<string, { change: Change; resources: OciResources }> = {
  'changes nothing for an empty change': { change: {}, resources: base },
  'sets memory field by field': {
    change: { memory: { limit: { value: 200n }, swappiness: { value: 0n }, disableOomKiller: { value: true } } },
    resources: { ...base, memory: { limit: 200, reservation: 50, swappiness: 0, disableOOMKiller: true } },
  },
  'ignores a memory limit of 0': {
    change: {
      memory: { limit: { value: 0n }, kernel: { value: 1n }, kernelTcp: { value: 2n }, useHierarchy: { value: false } },
    },
    resources: { ...base, memory: { limit: 100, reservation: 50, kernel: 1, kernelTCP: 2, useHierarchy: false } },
  },
  'sets CPU field by field': {
    change: { cpu: { quota: { value: -1n }, period: { value: 100000n }, mems: '1' } },
    resources: { ...base, cpu: { shares: 10, cpus: '0', quota: -1, period: 100000, mems: '1' } },
  },
  'sets real-time CPU': {
    change: { cpu: { realtimeRuntime: { value: 5n }, realtimePeriod: { value: 6n } } },
    resources: { ...base, cpu: { shares: 10, cpus: '0', realtimeRuntime: 5, realtimePeriod: 6 } },
  },
  'sets one size of huge pages': {
    change: {
      hugepageLimits: [
        { pageSize: '2MB', limit: 7n },
        { pageSize: '1GB', limit: 8n },
      ],
    },
    resources: {
      ...base,
      hugepageLimits: [
        { pageSize: '2MB', limit: 7 },
        { pageSize: '1GB', limit: 8 },
      ],
    },
  },
  'sets files of the control group': {
    change: { unified: { 'memory.high': '2', 'cpu.weight': '3' } },
    resources: { ...base, unified: { 'memory.high': '2', 'cpu.weight': '3' } },
  },
  'limits processes': { change: { pids: { limit: 5n } }, resources: { ...base, pids: { limit: 5 } } },
  'removes the limit of processes': { change: { pids: { limit: 0n } }, resources: { ...base, pids: { limit: -1 } } },
  'adds rules for devices': {
    change: { devices: [{ allow: true, type: 'b', major: { value: 8n }, access: 'r' }] },
    resources: { ...base, devices: [{ allow: false }, { allow: true, type: 'b', major: 8, access: 'r' }] },
  },
  'ignores empty classes': { change: { blockioClass: { value: '' }, rdtClass: {} }, resources: base },
};

for (const [name, { change, resources }] of Object.entries(cases)) {
  test(`applyResources() ${name}`, () => {
    assert.deepEqual(applyResources(base, LinuxResources.fromPartial(change)), resources);
  });
}

test('applyResources() adapts a swap limit to the memory limit', () => {
  const limit = LinuxResources.fromPartial({ memory: { limit: { value: 7n } } });
  assert.deepEqual(applyResources({ devices: [], memory: { limit: 1, swap: 1 } }, limit).memory, { limit: 7, swap: 7 });
});

test('nriResources() is the inverse of applyResources()', () => {
  const everything: OciResources = {
    devices: [{ allow: true, type: 'c', major: 1, minor: 2, access: 'rwm' }],
    memory: {
      limit: 1,
      reservation: 2,
      swap: 3,
      kernel: 4,
      kernelTCP: 5,
      swappiness: 6,
      disableOOMKiller: true,
      useHierarchy: false,
    },
    cpu: { shares: 1, quota: 2, period: 3, realtimeRuntime: 4, realtimePeriod: 5, cpus: '0', mems: '1' },
    pids: { limit: 9 },
    hugepageLimits: [{ pageSize: '2MB', limit: 3 }],
    unified: { 'cpu.weight': '1' },
  };
  assert.deepEqual(applyResources({ devices: [] }, nriResources(everything)), everything);
});
