import {
  ADDRESS_FAMILIES,
  ALLOWED,
  ALLOWED_ON,
  CONDITIONAL,
  DENIED,
  NAMESPACE_FLAGS,
  PERSONALITIES,
} from './seccomp-table.ts';
import type { SeccompCondition, SeccompProfile, SeccompRule } from './spec-facts.ts';

const EPERM = 1;
const ENOSYS = 38;
const ALWAYS: SeccompCondition = { arches: [], caps: [], minKernel: '' };
const ADMIN = ['CAP_SYS_ADMIN'];

/** s390's clone has its flags second. */
const FLAGS_SECOND = ['s390x'];

type Argument = NonNullable<SeccompRule['args']>[number];
type Decision = Pick<SeccompRule, 'action' | 'errnoRet'>;

interface Conditions {
  readonly args?: readonly Argument[];
  readonly includes?: Partial<SeccompCondition>;
  readonly excludes?: Partial<SeccompCondition>;
}

/** The profile of `RuntimeDefault`, generated from seccomp-table.ts; the same on every machine. */
export const DEFAULT_SECCOMP_PROFILE: SeccompProfile = {
  defaultAction: 'SCMP_ACT_ERRNO',
  defaultErrnoRet: ENOSYS,
  archMap: [
    { architecture: 'SCMP_ARCH_X86_64', subArchitectures: ['SCMP_ARCH_X86', 'SCMP_ARCH_X32'] },
    { architecture: 'SCMP_ARCH_AARCH64', subArchitectures: ['SCMP_ARCH_ARM'] },
    { architecture: 'SCMP_ARCH_S390X', subArchitectures: ['SCMP_ARCH_S390'] },
    { architecture: 'SCMP_ARCH_RISCV64', subArchitectures: [] },
  ],
  syscalls: [
    allow(Object.values(ALLOWED).flatMap(split)),
    ...Object.entries(ALLOWED_ON).map(([architecture, names]) =>
      allow(split(names), { includes: { arches: [architecture] } }),
    ),
    ...CONDITIONAL.flatMap(conditional),
    deny(Object.values(DENIED).flatMap(split)),
    ...personality(),
    ...socket(),
    ...clone(),
  ],
};

/** One rule for each condition, so that no two of them apply at once; the last one applies if none is met. */
function conditional({ caps, minKernel = '', names }: (typeof CONDITIONAL)[number]): SeccompRule[] {
  const calls = split(names);
  return [
    ...(minKernel === '' ? [] : [allow(calls, { includes: { minKernel } })]),
    ...caps.map((cap, index) =>
      allow(calls, { includes: { caps: [cap] }, excludes: { caps: caps.slice(0, index), minKernel } }),
    ),
    deny(calls, { excludes: { caps, minKernel } }),
  ];
}

/** Other personalities answer ENOSYS: a rule can compare an argument only once, so that no rule covers "all others". */
function personality(): SeccompRule[] {
  return PERSONALITIES.map((value) => allow(['personality'], { args: [equal(value)] }));
}

/**
 * Compares with single families: the kernel uses the lower 32 bits of the argument, and a condition like `!= AF_VSOCK`
 * would let another upper half pass.
 */
function socket(): SeccompRule[] {
  const { last, denied } = ADDRESS_FAMILIES;
  const first = Math.min(...denied);
  const beyond = Array.from({ length: last - first }, (_, offset) => first + 1 + offset);
  const allowed = beyond.filter((family) => !denied.includes(family));
  return [
    ...[{ index: 0, value: first, op: 'SCMP_CMP_LT' }, ...allowed.map(equal)].map((arg) =>
      allow(['socket'], { args: [arg] }),
    ),
    ...[...denied.map(equal), { index: 0, value: last, op: 'SCMP_CMP_GT' }].map((arg) =>
      deny(['socket'], { args: [arg] }),
    ),
  ];
}

/**
 * Without CAP_SYS_ADMIN, clone creates no namespaces. The flags of clone3 are in memory, where a filter cannot read them:
 * with ENOSYS, programs fall back to clone.
 */
function clone(): SeccompRule[] {
  const mask = NAMESPACE_FLAGS.reduce((all, flag) => all | flag);
  const rules = (index: number, when: Conditions): SeccompRule[] => [
    allow(['clone'], { ...when, args: [masked(index, mask, 0)] }),
    ...NAMESPACE_FLAGS.map((flag) => deny(['clone'], { ...when, args: [masked(index, flag, flag)] })),
  ];
  return [
    allow(['clone', 'clone3'], { includes: { caps: ADMIN } }),
    ...rules(0, { excludes: { caps: ADMIN, arches: FLAGS_SECOND } }),
    ...rules(1, { excludes: { caps: ADMIN }, includes: { arches: FLAGS_SECOND } }),
  ];
}

function allow(names: readonly string[], when: Conditions = {}): SeccompRule {
  return rule(names, { action: 'SCMP_ACT_ALLOW' }, when);
}

function deny(names: readonly string[], when: Conditions = {}): SeccompRule {
  return rule(names, { action: 'SCMP_ACT_ERRNO', errnoRet: EPERM }, when);
}

function rule(names: readonly string[], decision: Decision, { args, includes, excludes }: Conditions): SeccompRule {
  return {
    names,
    ...decision,
    ...(args && { args }),
    includes: { ...ALWAYS, ...includes },
    excludes: { ...ALWAYS, ...excludes },
  };
}

function equal(value: number): Argument {
  return { index: 0, value, op: 'SCMP_CMP_EQ' };
}

function masked(index: number, mask: number, value: number): Argument {
  return { index, value: mask, valueTwo: value, op: 'SCMP_CMP_MASKED_EQ' };
}

function split(names: string): string[] {
  return names.trim().split(/\s+/);
}
