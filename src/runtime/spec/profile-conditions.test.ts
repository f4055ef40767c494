import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { AppArmorDefault } from './apparmor-default.ts';
import { profileConditions } from './profile-conditions.ts';

const cases: Record<string, { seccomp?: boolean; appArmor: AppArmorDefault; shows: readonly [boolean, string][] }> = {
  'both profiles': {
    appArmor: { kind: 'applied', profile: 'nodelet-default' },
    shows: [
      [true, ''],
      [true, ''],
    ],
  },
  'the profile of another runtime': {
    appArmor: { kind: 'applied', profile: 'docker-default', reason: 'no parser' },
    shows: [
      [true, ''],
      [true, 'OtherProfile: using docker-default: no parser'],
    ],
  },
  'a kernel without AppArmor and seccomp': {
    seccomp: false,
    appArmor: { kind: 'disabled' },
    shows: [
      [
        false,
        'SeccompNotSupported: the kernel does not support seccomp: containers with a seccomp profile are rejected',
      ],
      [false, 'AppArmorDisabled: the kernel does not use AppArmor'],
    ],
  },
  'a missing profile': {
    appArmor: { kind: 'missing', reason: 'no parser' },
    shows: [
      [true, ''],
      [false, 'ProfileNotLoaded: no parser'],
    ],
  },
};

for (const [name, { seccomp = true, appArmor, shows }] of Object.entries(cases)) {
  test(`profileConditions() shows ${name}`, () => {
    const conditions = profileConditions(seccomp, appArmor);
    assert.deepEqual(
      conditions.map(({ type }) => type),
      ['DefaultSeccompProfileReady', 'DefaultAppArmorProfileReady'],
    );
    const texts = conditions.map(({ status, reason, message }) => [status, reason && `${reason}: ${message}`]);
    assert.deepEqual(texts, shows);
  });
}
