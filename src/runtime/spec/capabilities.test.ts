import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Capability } from '../../cri/generated/runtime-v1.ts';
import { ALL_CAPABILITIES, capabilitiesFromMask, containerCapabilities } from './capabilities.ts';

const DEFAULTS = containerCapabilities(undefined, { privileged: false, available: ALL_CAPABILITIES }).bounding;
const without = (...names: string[]): string[] => ALL_CAPABILITIES.filter((name) => !names.includes(name));

const cases: Record<
  string,
  { given: Partial<Capability>; available?: readonly string[]; bounding: readonly string[] }
> = {
  'are the defaults': { given: {}, bounding: DEFAULTS },
  'are those of the defaults that the node has': {
    given: {},
    available: ['CAP_CHOWN', 'CAP_BPF'],
    bounding: ['CAP_CHOWN'],
  },
  'are fewer': {
    given: { dropCapabilities: ['chown', 'CAP_KILL'] },
    bounding: DEFAULTS.filter((name) => name !== 'CAP_CHOWN' && name !== 'CAP_KILL'),
  },
  'are one alone': {
    given: { dropCapabilities: ['ALL'], addCapabilities: ['NET_ADMIN'] },
    bounding: ['CAP_NET_ADMIN'],
  },
  'are all but one': {
    given: { addCapabilities: ['all'], dropCapabilities: ['CHOWN'] },
    bounding: without('CAP_CHOWN'),
  },
  'are all that the node has': {
    given: { addCapabilities: ['ALL'] },
    available: without('CAP_SYS_RESOURCE'),
    bounding: without('CAP_SYS_RESOURCE'),
  },
};

for (const [name, { given, available = ALL_CAPABILITIES, bounding }] of Object.entries(cases)) {
  test(`capabilities ${name}`, () => {
    const requested = Capability.fromPartial(given);
    const expected = { bounding, effective: bounding, permitted: bounding };
    assert.deepEqual(containerCapabilities(requested, { privileged: false, available }), expected);
  });
}

test('capabilities that are ambient are inheritable too', () => {
  const requested = Capability.fromPartial({ dropCapabilities: ['ALL'], addAmbientCapabilities: ['NET_BIND_SERVICE'] });
  const list = ['CAP_NET_BIND_SERVICE'];
  const expected = { bounding: list, effective: list, permitted: list, inheritable: list, ambient: list };
  assert.deepEqual(containerCapabilities(requested, { privileged: false, available: ALL_CAPABILITIES }), expected);
});

test('capabilitiesFromMask() parses the format of the kernel', () => {
  assert.deepEqual(capabilitiesFromMask('000001fffeffffff'), without('CAP_SYS_RESOURCE'));
  assert.deepEqual(capabilitiesFromMask('0000000000000000'), []);
});
