import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { OciLinux, OciProcess, OciSpec } from '../oci/oci-spec.ts';
import { applyAdjustment } from './apply-adjustment.ts';
import { sampleSpec } from './fake/sample-records.ts';
import { ContainerAdjustment } from './generated/nri-v1alpha1.ts';

type Asked = Parameters<typeof ContainerAdjustment.fromPartial>[0];

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

const cases: Record<string, { asked: Asked; spec: OciSpec }> = {
  'changes nothing that is not asked for': { asked: {}, spec: sampleSpec },
  'changes nothing for empty parts': { asked: { linux: { resources: {} } }, spec: sampleSpec },
  'sets and removes annotations': {
    asked: { annotations: { '-example.com/kept': '', 'example.com/new': '1' } },
    spec: { ...sampleSpec, annotations: { 'example.com/new': '1' } },
  },
  'replaces an annotation that it removes and sets': {
    asked: { annotations: { '-example.com/kept': '', 'example.com/kept': 'new' } },
    spec: { ...sampleSpec, annotations: { 'example.com/kept': 'new' } },
  },
  'sets variables in their place, new ones at the end, and removes': {
    asked: { env: [{ key: 'COLOR', value: 'blue=ish' }, { key: '-PATH' }, { key: 'NEW', value: '1' }] },
    spec: withProcess({ env: ['COLOR=blue=ish', 'NEW=1'] }),
  },
  'replaces the arguments': { asked: { args: ['sh'] }, spec: withProcess({ args: ['sh'] }) },
  'takes an empty first argument as a marker': { asked: { args: ['', 'sh'] }, spec: withProcess({ args: ['sh'] }) },
  'adds a mount behind those that it lies in': {
    asked: {
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
    asked: { mounts: [{ destination: '-/old' }] },
    spec: { ...sampleSpec, mounts: [proc].flatMap((mount) => mount ?? []) },
  },
  'replaces a mount': {
    asked: { mounts: [{ destination: '/old', source: '/srv/new', options: ['ro'] }] },
    spec: {
      ...sampleSpec,
      mounts: [...[proc].flatMap((mount) => mount ?? []), { destination: '/old', source: '/srv/new', options: ['ro'] }],
    },
  },
  'opens the root for mounts that follow the machine': {
    asked: { mounts: [{ destination: '/old', type: 'bind', source: '/srv/old', options: ['rbind', 'rslave'] }] },
    spec: {
      ...withLinux({ rootfsPropagation: 'rslave' }),
      mounts: [proc, old && { ...old, options: ['rbind', 'rslave'] }].flatMap((mount) => mount ?? []),
    },
  },
  'adds hooks': {
    asked: { hooks: { prestart: [{ path: '/h', args: ['h'], timeout: { value: 3n } }], poststop: [{ path: '/p' }] } },
    spec: {
      ...sampleSpec,
      hooks: {
        prestart: [{ path: '/h', args: ['h'], env: [], timeout: 3 }],
        poststop: [{ path: '/p', args: [], env: [] }],
      },
    },
  },
  'sets limits of processes, one of each type': {
    asked: {
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
    asked: {
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
  'removes a device': { asked: { linux: { devices: [{ path: '-/dev/null' }] } }, spec: withLinux({ devices: [] }) },
  'replaces and removes namespaces': {
    asked: { linux: { namespaces: [{ type: '-pid' }, { type: 'network', path: '/other' }, { type: 'uts' }] } },
    spec: withLinux({ namespaces: [{ type: 'network', path: '/other' }, { type: 'uts' }] }),
  },
  'sets sysctls': {
    asked: { linux: { sysctl: { 'net.core.somaxconn': '1', '-kernel.shmmax': '' } } },
    spec: withLinux({ sysctl: { 'net.core.somaxconn': '1' } }),
  },
  'sets the control group and the OOM score': {
    asked: { linux: { cgroupsPath: '/other', oomScoreAdj: { value: -5n } } },
    spec: { ...withLinux({ cgroupsPath: '/other' }), process: { ...process, oomScoreAdj: -5 } },
  },
  'sets the I/O priority and the scheduler': {
    asked: { linux: { ioPriority: { class: 2, priority: 4 }, scheduler: { policy: 2, priority: 9, flags: [0] } } },
    spec: withProcess({
      ioPriority: { class: 'IOPRIO_CLASS_BE', priority: 4 },
      scheduler: { policy: 'SCHED_FIFO', priority: 9, flags: ['SCHED_FLAG_RESET_ON_FORK'] },
    }),
  },
  'sets the seccomp policy': {
    asked: {
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
  'takes the removal of what nobody has': {
    asked: { linux: { rdt: { remove: true }, netDevices: { '-eth1': {} } } },
    spec: sampleSpec,
  },
};

for (const [name, { asked, spec }] of Object.entries(cases)) {
  test(`applyAdjustment() ${name}`, () => {
    assert.deepEqual(applyAdjustment(sampleSpec, ContainerAdjustment.fromPartial(asked)), spec);
  });
}

const refused: Record<string, { asked: Asked; message: string }> = {
  'CDI devices': {
    asked: { CDIDevices: [{ name: 'vendor.com/gpu=0' }] },
    message: 'CDI_devices: CDI devices cannot be resolved here',
  },
  'an RDT class of service': {
    asked: { linux: { rdt: { closId: { value: 'gold' } } } },
    message: 'linux.rdt: this runtime has no RDT',
  },
  'network devices': {
    asked: { linux: { netDevices: { eth1: { name: 'eth0' } } } },
    message: 'linux.net_devices: this runtime moves no network devices',
  },
  'a memory policy': {
    asked: { linux: { memoryPolicy: { mode: 2, nodes: '0' } } },
    message: 'linux.memory_policy: this runtime sets no memory policies',
  },
  'a block I/O class': {
    asked: { linux: { resources: { blockioClass: { value: 'gold' } } } },
    message: 'linux.resources.blockio_class: this runtime has no block I/O classes',
  },
  'an RDT class': {
    asked: { linux: { resources: { rdtClass: { value: 'gold' } } } },
    message: 'linux.resources.rdt_class: this runtime has no RDT classes',
  },
  'an unknown namespace': {
    asked: { linux: { namespaces: [{ type: 'time' }] } },
    message: 'linux.namespaces: unknown type "time"',
  },
  'an unknown kind of device': {
    asked: { linux: { devices: [{ path: '/dev/x', type: 'x' }] } },
    message: 'linux.devices: /dev/x: unknown type "x"',
  },
  'a number that config.json cannot hold': {
    asked: { linux: { resources: { memory: { limit: { value: 2n ** 60n + 1n } } } } },
    message: 'linux.resources.memory.limit: 1152921504606846977 is too large',
  },
};

for (const [name, { asked, message }] of Object.entries(refused)) {
  test(`applyAdjustment() refuses ${name}`, () => {
    const adjust = () => applyAdjustment(sampleSpec, ContainerAdjustment.fromPartial(asked));
    assert.throws(adjust, { name: 'AdjustmentError', message });
  });
}
