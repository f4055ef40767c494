import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { OciLinux, OciProcess, OciSpec } from '../oci/oci-spec.ts';
import { applyAdjustment } from './apply-adjustment.ts';
import { sampleSpec } from './fake/sample-records.ts';
import { ContainerAdjustment } from './generated/nri-v1alpha1.ts';

type Adjustment = Parameters<typeof ContainerAdjustment.fromPartial>[0];

const withProcess = (change: Partial<OciProcess>): OciSpec => ({
  ...sampleSpec,
  process: { ...sampleSpec.process, ...change },
});
const withLinux = (change: Partial<OciLinux>): OciSpec => ({
  ...sampleSpec,
  linux: { ...sampleSpec.linux, ...change },
});
const { process, linux, mounts } = sampleSpec;
const [proc, old] = mounts;

const cases: Record<string, { adjustment: Adjustment; spec: OciSpec }> = {
  'changes only what is requested': { adjustment: {}, spec: sampleSpec },
  'changes nothing for empty parts': { adjustment: { linux: { resources: {} } }, spec: sampleSpec },
  'sets and removes annotations': {
    adjustment: { annotations: { '-example.com/kept': '', 'example.com/new': '1' } },
    spec: { ...sampleSpec, annotations: { 'example.com/new': '1' } },
  },
  'replaces an annotation that it removes and sets': {
    adjustment: { annotations: { '-example.com/kept': '', 'example.com/kept': 'new' } },
    spec: { ...sampleSpec, annotations: { 'example.com/kept': 'new' } },
  },
  'sets variables in their place, new ones at the end, and removes': {
    adjustment: { env: [{ key: 'COLOR', value: 'blue=ish' }, { key: '-PATH' }, { key: 'NEW', value: '1' }] },
    spec: withProcess({ env: ['COLOR=blue=ish', 'NEW=1'] }),
  },
  'replaces the arguments': { adjustment: { args: ['sh'] }, spec: withProcess({ args: ['sh'] }) },
  'takes an empty first argument as a marker': {
    adjustment: { args: ['', 'sh'] },
    spec: withProcess({ args: ['sh'] }),
  },
  'adds a mount after its parents': {
    adjustment: {
      mounts: [{ destination: '/data/deep', type: 'bind', source: '/srv', options: ['rbind'] }, { destination: '/a' }],
    },
    spec: {
      ...sampleSpec,
      mounts: [
        ...mounts,
        { destination: '/a', options: [] },
        { destination: '/data/deep', type: 'bind', source: '/srv', options: ['rbind'] },
      ],
    },
  },
  'removes a mount': {
    adjustment: { mounts: [{ destination: '-/old' }] },
    spec: { ...sampleSpec, mounts: [proc].flatMap((mount) => mount ?? []) },
  },
  'replaces a mount': {
    adjustment: { mounts: [{ destination: '/old', source: '/srv/new', options: ['ro'] }] },
    spec: {
      ...sampleSpec,
      mounts: [...[proc].flatMap((mount) => mount ?? []), { destination: '/old', source: '/srv/new', options: ['ro'] }],
    },
  },
  'changes the root propagation for mounts that follow the host': {
    adjustment: { mounts: [{ destination: '/old', type: 'bind', source: '/srv/old', options: ['rbind', 'rslave'] }] },
    spec: {
      ...withLinux({ rootfsPropagation: 'rslave' }),
      mounts: [proc, old && { ...old, options: ['rbind', 'rslave'] }].flatMap((mount) => mount ?? []),
    },
  },
  'adds hooks': {
    adjustment: {
      hooks: { prestart: [{ path: '/h', args: ['h'], timeout: { value: 3n } }], poststop: [{ path: '/p' }] },
    },
    spec: {
      ...sampleSpec,
      hooks: {
        prestart: [{ path: '/h', args: ['h'], env: [], timeout: 3 }],
        poststop: [{ path: '/p', args: [], env: [] }],
      },
    },
  },
  'sets limits of processes, one of each type': {
    adjustment: {
      rlimits: [
        { type: 'RLIMIT_CORE', soft: 1n, hard: 2n },
        { type: 'RLIMIT_NOFILE', soft: 5n, hard: 2n ** 64n - 1n },
      ],
    },
    spec: withProcess({
      rlimits: [
        { type: 'RLIMIT_CORE', soft: 1, hard: 2 },
        { type: 'RLIMIT_NOFILE', soft: 5, hard: 2 ** 64 - 2048 },
      ],
    }),
  },
  'adds a device and allows it': {
    adjustment: {
      linux: { devices: [{ path: '/dev/fuse', type: 'c', major: 10n, minor: 229n, fileMode: { value: 0o666 } }] },
    },
    spec: withLinux({
      devices: [...linux.devices, { path: '/dev/fuse', type: 'c', major: 10, minor: 229, fileMode: 0o666 }],
      resources: {
        ...linux.resources,
        devices: [...linux.resources.devices, { allow: true, type: 'c', major: 10, minor: 229, access: 'rw' }],
      },
    }),
  },
  'removes a device': {
    adjustment: { linux: { devices: [{ path: '-/dev/null' }] } },
    spec: withLinux({ devices: [] }),
  },
  'replaces and removes namespaces': {
    adjustment: { linux: { namespaces: [{ type: '-pid' }, { type: 'network', path: '/other' }, { type: 'uts' }] } },
    spec: withLinux({ namespaces: [{ type: 'network', path: '/other' }, { type: 'uts' }] }),
  },
  'sets sysctls': {
    adjustment: { linux: { sysctl: { 'net.core.somaxconn': '1', '-kernel.shmmax': '' } } },
    spec: withLinux({ sysctl: { 'net.core.somaxconn': '1' } }),
  },
  'sets the control group and the OOM score': {
    adjustment: { linux: { cgroupsPath: '/other', oomScoreAdj: { value: -5n } } },
    spec: { ...withLinux({ cgroupsPath: '/other' }), process: { ...process, oomScoreAdj: -5 } },
  },
  'sets the I/O priority and the scheduler': {
    adjustment: { linux: { ioPriority: { class: 2, priority: 4 }, scheduler: { policy: 2, priority: 9, flags: [0] } } },
    spec: withProcess({
      ioPriority: { class: 'IOPRIO_CLASS_BE', priority: 4 },
      scheduler: { policy: 'SCHED_FIFO', priority: 9, flags: ['SCHED_FLAG_RESET_ON_FORK'] },
    }),
  },
  'sets the seccomp policy': {
    adjustment: {
      linux: {
        seccompPolicy: {
          defaultAction: 'SCMP_ACT_ERRNO',
          defaultErrno: { value: 1 },
          architectures: ['SCMP_ARCH_X86_64'],
          syscalls: [{ names: ['read'], action: 'SCMP_ACT_ALLOW', args: [{ index: 0, value: 3n, op: 'SCMP_CMP_EQ' }] }],
        },
      },
    },
    spec: withLinux({
      seccomp: {
        defaultAction: 'SCMP_ACT_ERRNO',
        defaultErrnoRet: 1,
        architectures: ['SCMP_ARCH_X86_64'],
        flags: [],
        syscalls: [
          {
            names: ['read'],
            action: 'SCMP_ACT_ALLOW',
            args: [{ index: 0, value: 3, valueTwo: 0, op: 'SCMP_CMP_EQ' }],
          },
        ],
      },
    }),
  },
  'accepts the removal of missing items': {
    adjustment: { linux: { rdt: { remove: true }, netDevices: { '-eth1': {} } } },
    spec: sampleSpec,
  },
};

for (const [name, { adjustment, spec }] of Object.entries(cases)) {
  test(`applyAdjustment() ${name}`, () => {
    assert.deepEqual(applyAdjustment(sampleSpec, ContainerAdjustment.fromPartial(adjustment)), spec);
  });
}

const rejected: Record<string, { adjustment: Adjustment; message: string }> = {
  'CDI devices': {
    adjustment: { CDIDevices: [{ name: 'vendor.com/gpu=0' }] },
    message: 'CDI_devices: CDI devices are not resolved',
  },
  'an RDT class of service': {
    adjustment: { linux: { rdt: { closId: { value: 'gold' } } } },
    message: 'linux.rdt: RDT is not supported',
  },
  'network devices': {
    adjustment: { linux: { netDevices: { eth1: { name: 'eth0' } } } },
    message: 'linux.net_devices: network devices are not supported',
  },
  'a memory policy': {
    adjustment: { linux: { memoryPolicy: { mode: 2, nodes: '0' } } },
    message: 'linux.memory_policy: memory policies are not supported',
  },
  'a block I/O class': {
    adjustment: { linux: { resources: { blockioClass: { value: 'gold' } } } },
    message: 'linux.resources.blockio_class: block I/O classes are not supported',
  },
  'an RDT class': {
    adjustment: { linux: { resources: { rdtClass: { value: 'gold' } } } },
    message: 'linux.resources.rdt_class: RDT classes are not supported',
  },
  'an unknown namespace': {
    adjustment: { linux: { namespaces: [{ type: 'time' }] } },
    message: 'linux.namespaces: unknown type "time"',
  },
  'an unknown kind of device': {
    adjustment: { linux: { devices: [{ path: '/dev/x', type: 'x' }] } },
    message: 'linux.devices: /dev/x: unknown type "x"',
  },
  'a number that config.json cannot hold': {
    adjustment: { linux: { resources: { memory: { limit: { value: 2n ** 60n + 1n } } } } },
    message: 'linux.resources.memory.limit: 1152921504606846977 is too large',
  },
};

for (const [name, { adjustment, message }] of Object.entries(rejected)) {
  test(`applyAdjustment() rejects ${name}`, () => {
    const adjust = () => applyAdjustment(sampleSpec, ContainerAdjustment.fromPartial(adjustment));
    assert.throws(adjust, { name: 'AdjustmentError', message });
  });
}
