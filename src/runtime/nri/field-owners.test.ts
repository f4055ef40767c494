import assert from 'node:assert/strict';
import { test } from 'node:test';
import { adjustmentClaims } from './claims.ts';
import { FieldOwners } from './field-owners.ts';
import { ContainerAdjustment } from './generated/nri-v1alpha1.ts';

type Adjustment = Parameters<typeof ContainerAdjustment.fromPartial>[0];

/** Two adjustments in order, and the expected conflict, if any. */
const cases: Record<string, { first: Adjustment; second: Adjustment; conflict?: string }> = {
  'the same annotation': {
    first: { annotations: { a: '1' } },
    second: { annotations: { a: '1' } },
    conflict: 'Annotations a',
  },
  'different annotations': { first: { annotations: { a: '1' } }, second: { annotations: { b: '1' } } },
  'an annotation that is removed first': {
    first: { annotations: { a: '1' } },
    second: { annotations: { '-a': '', a: '2' } },
  },
  'the same mount': {
    first: { mounts: [{ destination: '/a' }] },
    second: { mounts: [{ destination: '/a' }] },
    conflict: 'Mounts /a',
  },
  'a mount that is removed': {
    first: { mounts: [{ destination: '/a' }] },
    second: { mounts: [{ destination: '-/a' }] },
  },
  'the same variable': { first: { env: [{ key: 'A' }] }, second: { env: [{ key: 'A' }] }, conflict: 'Env A' },
  'the arguments': { first: { args: ['a'] }, second: { args: ['b'] }, conflict: 'Args' },
  'the arguments, with the marker': { first: { args: ['a'] }, second: { args: ['', 'b'] } },
  'hooks are combined': { first: { hooks: { prestart: [{}] } }, second: { hooks: { prestart: [{}] } } },
  'the same limit': {
    first: { rlimits: [{ type: 'RLIMIT_CORE' }] },
    second: { rlimits: [{ type: 'RLIMIT_CORE' }] },
    conflict: 'Rlimits RLIMIT_CORE',
  },
  'the same CDI device': {
    first: { CDIDevices: [{ name: 'd' }] },
    second: { CDIDevices: [{ name: 'd' }] },
    conflict: 'CdiDevices d',
  },
  'the same device': {
    first: { linux: { devices: [{ path: '/d' }] } },
    second: { linux: { devices: [{ path: '/d' }] } },
    conflict: 'Devices /d',
  },
  'the same namespace, also to remove it': {
    first: { linux: { namespaces: [{ type: 'pid' }] } },
    second: { linux: { namespaces: [{ type: '-pid' }] } },
    conflict: 'Namespace pid',
  },
  'the same sysctl': {
    first: { linux: { sysctl: { s: '1' } } },
    second: { linux: { sysctl: { s: '2' } } },
    conflict: 'Sysctl s',
  },
  'different resources': {
    first: { linux: { resources: { memory: { limit: { value: 1n } } } } },
    second: { linux: { resources: { memory: { swap: { value: 1n } }, cpu: { cpus: '0' } } } },
  },
  'the same resource': {
    first: { linux: { resources: { cpu: { cpus: '0' } } } },
    second: { linux: { resources: { cpu: { cpus: '1' } } } },
    conflict: 'CPUSetCPUs',
  },
  'the same size of huge pages': {
    first: { linux: { resources: { hugepageLimits: [{ pageSize: '2MB' }] } } },
    second: { linux: { resources: { hugepageLimits: [{ pageSize: '2MB' }] } } },
    conflict: 'HugepageLimits 2MB',
  },
  'the control group': {
    first: { linux: { cgroupsPath: '/a' } },
    second: { linux: { cgroupsPath: '/b' } },
    conflict: 'CgroupsPath',
  },
  'the OOM score': {
    first: { linux: { oomScoreAdj: {} } },
    second: { linux: { oomScoreAdj: {} } },
    conflict: 'OomScoreAdj',
  },
  'RDT that is removed first': {
    first: { linux: { rdt: { closId: { value: 'a' } } } },
    second: { linux: { rdt: { remove: true, closId: { value: 'b' } } } },
  },
};

for (const [name, { first, second, conflict }] of Object.entries(cases)) {
  test(`FieldOwners: ${name}`, () => {
    const owners = new FieldOwners();
    const claim = (adjustment: Adjustment, plugin: string): void =>
      owners.claim('c1', adjustmentClaims(ContainerAdjustment.fromPartial(adjustment)), plugin);
    claim(first, '10-a');
    if (conflict === undefined) claim(second, '20-b');
    else {
      const message = `plugins "20-b" and "10-a" both tried to set ${conflict}`;
      assert.throws(() => claim(second, '20-b'), { name: 'ConflictError', message });
    }
  });
}

test('FieldOwners: a field removed by one plugin may not be set by a third', () => {
  const owners = new FieldOwners();
  const claim = (adjustment: Adjustment, plugin: string): void =>
    owners.claim('c1', adjustmentClaims(ContainerAdjustment.fromPartial(adjustment)), plugin);
  claim({ env: [{ key: 'A' }] }, '10-a');
  claim({ env: [{ key: '-A' }] }, '20-b');
  assert.throws(() => claim({ env: [{ key: 'A' }] }, '30-c'), {
    message: 'plugins "30-c" and "20-b" both tried to set Env A',
  });
  assert.deepEqual(owners.message().owners['c1'], { simple: {}, compound: { 6: { owners: { A: '-20-b' } } } });
});

test('FieldOwners: a conflict claims nothing', () => {
  const owners = new FieldOwners();
  const claim = (adjustment: Adjustment, plugin: string): void =>
    owners.claim('c1', adjustmentClaims(ContainerAdjustment.fromPartial(adjustment)), plugin);
  claim({ args: ['a'] }, '10-a');
  assert.throws(() => claim({ annotations: { x: '1' }, args: ['b'] }, '20-b'));
  claim({ annotations: { x: '1' } }, '30-c');
});
