import assert from 'node:assert/strict';
import test from 'node:test';
import type { VolumeMount } from '../../../api/generated/core-v1.ts';
import { recursiveReadOnly, recursiveReadOnlyStatus } from './recursive-read-only.ts';

const mount: VolumeMount = { name: 'data', mountPath: '/data', readOnly: true };

const cases: Record<string, { given: Partial<VolumeMount>; supported?: boolean; recursive: boolean }> = {
  'is off unless asked for': { given: {}, recursive: false },
  'is off where that is asked for': { given: { recursiveReadOnly: 'Disabled' }, recursive: false },
  'is on where it can be': { given: { recursiveReadOnly: 'IfPossible' }, recursive: true },
  'is off where it cannot be': { given: { recursiveReadOnly: 'IfPossible' }, supported: false, recursive: false },
  'is on where it has to be': { given: { recursiveReadOnly: 'Enabled' }, recursive: true },
  'goes with private mounts': { given: { recursiveReadOnly: 'Enabled', mountPropagation: 'None' }, recursive: true },
};

for (const [name, { given, supported = true, recursive }] of Object.entries(cases)) {
  test(`recursiveReadOnly() ${name}`, () => {
    assert.equal(recursiveReadOnly({ ...mount, ...given }, supported), recursive);
    assert.equal(recursiveReadOnlyStatus({ ...mount, ...given }, supported), recursive ? 'Enabled' : 'Disabled');
  });
}

const rejected: Record<string, { given: Partial<VolumeMount>; supported?: boolean; why: string }> = {
  'a writable mount': {
    given: { readOnly: false, recursiveReadOnly: 'IfPossible' },
    why: 'volume "data" requested recursive read-only mode, but it is not read-only',
  },
  'a mount with propagation': {
    given: { recursiveReadOnly: 'Enabled', mountPropagation: 'HostToContainer' },
    why: 'volume "data" requested recursive read-only mode, but it is not compatible with propagation "HostToContainer"',
  },
  'a runtime without support': {
    given: { recursiveReadOnly: 'Enabled' },
    supported: false,
    why: 'volume "data" requested recursive read-only mode, but it is not supported by the runtime',
  },
  'an unknown mode': { given: { recursiveReadOnly: 'Always' }, why: 'unknown recursive read-only mode "Always"' },
};

for (const [name, { given, supported = true, why }] of Object.entries(rejected)) {
  test(`recursiveReadOnly() rejects ${name}`, () => {
    assert.throws(() => recursiveReadOnly({ ...mount, ...given }, supported), { message: why });
    assert.equal(recursiveReadOnlyStatus({ ...mount, ...given }, supported), 'Disabled');
  });
}
