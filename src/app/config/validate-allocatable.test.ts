import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type ConfigCase, errorsAfter } from './healthy-config.fixture.ts';
import { allocatableErrors } from './validate-allocatable.ts';

const cases: Record<string, ConfigCase> = {
  'accepts the defaults': { change: {}, messages: [] },
  'accepts every level with its cgroup': {
    change: {
      enforceNodeAllocatable: ['pods', 'system-reserved', 'kube-reserved-compressible'],
      systemReservedCgroup: '/s',
      kubeReservedCgroup: '/k',
    },
    messages: [],
  },
  'accepts none without cgroups': { change: { enforceNodeAllocatable: ['none'], cgroupsPerQOS: false }, messages: [] },
  'enforces by cgroups of classes': {
    change: { cgroupsPerQOS: false },
    messages: [
      'invalid configuration: cgroupsPerQOS (--cgroups-per-qos) must be set to true when "pods" contained in enforceNodeAllocatable (--enforce-node-allocatable)',
    ],
  },
  'wants the cgroups that it enforces': {
    change: { enforceNodeAllocatable: ['system-reserved', 'kube-reserved'] },
    messages: [
      'invalid configuration: systemReservedCgroup (--system-reserved-cgroup) must be specified when "system-reserved" or "system-reserved-compressible" included in enforceNodeAllocatable (--enforce-node-allocatable)',
      'invalid configuration: kubeReservedCgroup (--kube-reserved-cgroup) must be specified when "kube-reserved" or "kube-reserved-compressible" included in enforceNodeAllocatable (--enforce-node-allocatable)',
    ],
  },
  'enforces all of a reservation or its compressible part': {
    change: {
      enforceNodeAllocatable: ['system-reserved', 'system-reserved-compressible'],
      systemReservedCgroup: '/s',
    },
    messages: [
      'invalid configuration: both "system-reserved" and "system-reserved-compressible" cannot be specified together in enforceNodeAllocatable (--enforce-node-allocatable)',
    ],
  },
  'names a level once, and none alone': {
    change: { enforceNodeAllocatable: ['pods', 'pods', 'none', 'x'] },
    messages: [
      'invalid configuration: duplicated enforcements "pods" in enforceNodeAllocatable (--enforce-node-allocatable)',
      'invalid configuration: enforceNodeAllocatable (--enforce-node-allocatable) may not contain additional enforcements when "none" is specified',
      'invalid configuration: option "x" specified for enforceNodeAllocatable (--enforce-node-allocatable). Valid options are "pods", "system-reserved", "system-reserved-compressible", "kube-reserved", "kube-reserved-compressible" or "none"',
    ],
  },
  'reserves CPUs by number or by cgroup': {
    change: { reservedSystemCPUs: '0-1', kubeReservedCgroup: '/k' },
    messages: [
      "invalid configuration: can't use reservedSystemCPUs (--reserved-cpus) with systemReservedCgroup (--system-reserved-cgroup) or kubeReservedCgroup (--kube-reserved-cgroup)",
    ],
  },
  'reads the numbers of CPUs': {
    change: { reservedSystemCPUs: '0,x' },
    messages: [
      'invalid configuration: unable to parse reservedSystemCPUs (--reserved-cpus) 0,x, error: strconv.Atoi: parsing "x": invalid syntax',
    ],
  },
  'reserves memory of NUMA nodes once, and some': {
    change: {
      reservedMemory: [
        { numaNode: 0, limits: { memory: '1Gi', cpu: '1' } },
        { numaNode: 0, limits: { memory: '0' } },
        { numaNode: 1, limits: { 'hugepages-2Mi': '2Mi' } },
      ],
    },
    messages: [
      'invalid configuration: the limit type "cpu" for NUMA node 0 is not supported, only [memory hugepages-<HugePageSize>] is accepted',
      'invalid configuration: reserved memory may not be zero for NUMA node 0 and resource "memory"',
      'invalid configuration: the reserved memory has a duplicate value for NUMA node 0 and resource "memory"',
    ],
  },
  'reserves what can be reserved': {
    change: {
      systemReserved: { cpu: '500m', memory: '100Mi', 'ephemeral-storage': '1e3', pid: '1000' },
      kubeReserved: { gpu: '1', cpu: '-1', memory: 'much' },
    },
    messages: [
      'cannot reserve "gpu" resource',
      'resource quantity for "cpu" cannot be negative: -1',
      'failed to parse quantity "much" for "memory" resource: quantities must match the regular expression \'^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$\'',
    ],
  },
  'leaves shares of classes alone while their gate is off': { change: { qosReserved: { memory: 'x' } }, messages: [] },
  'reads shares of classes': {
    change: { qosReserved: { memory: '50', cpu: '50%' } },
    gates: { QOSReserved: true },
    messages: [
      'failed to parse percentage "50" for "memory" resource: percentage expected, got \'50\'',
      'cannot reserve "cpu" resource',
    ],
  },
  'reads shares of at most all': {
    change: { qosReserved: { memory: '101%' } },
    gates: { QOSReserved: true },
    messages: ['failed to parse percentage "101%" for "memory" resource: percentage must be between 0 and 100'],
  },
  'reads shares in digits': {
    change: { qosReserved: { memory: 'half%' } },
    gates: { QOSReserved: true },
    messages: ['failed to parse percentage "half%" for "memory" resource: invalid number in percentage \'half%\''],
  },
};

for (const [name, each] of Object.entries(cases)) {
  test(`allocatableErrors() ${name}`, () => {
    assert.deepEqual(errorsAfter(allocatableErrors, each), each.messages);
  });
}
