import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseSeccompProfile } from './parse-seccomp-profile.ts';
import { applySeccompProfile } from './seccomp.ts';
import { MACHINE } from './testing/valid-request.ts';

function profileWith(rule: object): string {
  return JSON.stringify({
    defaultAction: 'SCMP_ACT_ERRNO',
    defaultErrnoRet: 1,
    defaultErrno: 'ENOSYS',
    archMap: [
      { architecture: 'SCMP_ARCH_AARCH64', subArchitectures: ['SCMP_ARCH_ARM'] },
      { architecture: 'SCMP_ARCH_X86_64', subArchitectures: ['SCMP_ARCH_X86', 'SCMP_ARCH_X32'] },
    ],
    syscalls: [{ names: ['mount'], action: 'SCMP_ACT_ALLOW', args: null, ...rule }],
  });
}

test('applySeccompProfile() returns the rules of every container', () => {
  const args = [{ index: 0, value: 8, valueTwo: 0, op: 'SCMP_CMP_EQ' }];
  assert.deepEqual(applySeccompProfile(parseSeccompProfile(profileWith({ args, errno: 'EPERM' })), [], MACHINE), {
    defaultAction: 'SCMP_ACT_ERRNO',
    defaultErrnoRet: 38,
    architectures: ['SCMP_ARCH_X86_64', 'SCMP_ARCH_X86', 'SCMP_ARCH_X32'],
    syscalls: [{ names: ['mount'], action: 'SCMP_ACT_ALLOW', errnoRet: 1, args }],
  });
});

const cases: Record<string, { rule: object; caps?: readonly string[]; holds: boolean }> = {
  'for this architecture': { rule: { includes: { arches: ['amd64', 'x32'] } }, holds: true },
  'for another architecture': { rule: { includes: { arches: ['arm64'] } }, holds: false },
  'except for this architecture': { rule: { excludes: { arches: ['amd64'] } }, holds: false },
  'with the capability': { rule: { includes: { caps: ['CAP_SYS_ADMIN'] } }, caps: ['CAP_SYS_ADMIN'], holds: true },
  'without the capability': { rule: { includes: { caps: ['CAP_SYS_ADMIN'] } }, holds: false },
  'with one of two capabilities': {
    rule: { includes: { caps: ['CAP_BPF', 'CAP_SYS_ADMIN'] } },
    caps: ['CAP_BPF'],
    holds: false,
  },
  'except with the capability': { rule: { excludes: { caps: ['CAP_BPF'] } }, caps: ['CAP_BPF'], holds: false },
  'from this kernel on': { rule: { includes: { minKernel: '6.18' } }, holds: true },
  'from a later kernel on': { rule: { includes: { minKernel: '6.19' } }, holds: false },
  'until this kernel': { rule: { excludes: { minKernel: '5.20' } }, holds: false },
};

for (const [name, { rule, caps = [], holds }] of Object.entries(cases)) {
  test(`applySeccompProfile() ${holds ? 'keeps' : 'omits'} a rule ${name}`, () => {
    const { syscalls = [] } = applySeccompProfile(parseSeccompProfile(profileWith(rule)), caps, MACHINE);
    assert.equal(syscalls.length, holds ? 1 : 0);
  });
}

const invalid: Record<string, { text: string; message: RegExp }> = {
  'is not JSON': { text: '{', message: /JSON/ },
  'is a list': { text: '[]', message: /^profile: expected object$/ },
  'has no default action': { text: '{}', message: /^defaultAction: expected text$/ },
  'has rules that are not a list': {
    text: '{"defaultAction":"a","syscalls":1}',
    message: /^syscalls: expected array$/,
  },
  'has a rule without a name': {
    text: profileWith({ names: [] }),
    message: /^syscalls\[0\]: must name a system call$/,
  },
  'has a rule without an action': {
    text: profileWith({ action: 1 }),
    message: /^syscalls\[0\].action: expected text$/,
  },
  'compares with a non-number': {
    text: profileWith({ args: [{}] }),
    message: /args\[0\]: index and value must be numbers$/,
  },
  'names architectures twice': {
    text: '{"defaultAction":"a","architectures":["x"],"archMap":[{"architecture":"x"}]}',
    message: /^both architectures and archMap are set$/,
  },
};

for (const [name, { text, message }] of Object.entries(invalid)) {
  test(`parseSeccompProfile() rejects a profile that ${name}`, () => {
    assert.throws(() => parseSeccompProfile(text), { message });
  });
}
