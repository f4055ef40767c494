import assert from 'node:assert/strict';
import { test } from 'node:test';
import { byCodePoint } from '../../base/code-point-order.ts';
import type { OciSeccomp } from '../oci/oci-spec.ts';
import { ALL_CAPABILITIES } from './capabilities.ts';
import { DEFAULT_SECCOMP_PROFILE } from './default-seccomp-profile.ts';
import { applySeccompProfile } from './seccomp.ts';
import { ALLOWED, CONDITIONAL, DENIED } from './seccomp-table.ts';
import { MACHINE } from './testing/valid-request.ts';

/** The capabilities of a container that adds and drops none. */
const USUAL = [
  'CAP_CHOWN',
  'CAP_DAC_OVERRIDE',
  'CAP_FSETID',
  'CAP_FOWNER',
  'CAP_MKNOD',
  'CAP_NET_RAW',
  'CAP_SETGID',
  'CAP_SETUID',
  'CAP_SETFCAP',
  'CAP_SETPCAP',
  'CAP_NET_BIND_SERVICE',
  'CAP_SYS_CHROOT',
  'CAP_KILL',
  'CAP_AUDIT_WRITE',
];

type Decision = 'allow' | 'EPERM' | 'ENOSYS';
type Rule = NonNullable<OciSeccomp['syscalls']>[number];

interface Container {
  readonly caps?: readonly string[];
  readonly architecture?: string;
  readonly kernel?: string;
}

function section({ caps = USUAL, architecture = 'amd64', kernel = MACHINE.kernel }: Container): OciSeccomp {
  return applySeccompProfile(DEFAULT_SECCOMP_PROFILE, caps, { architecture, kernel });
}

/** Arguments as the kernel has them: 64 bits each. All matching rules must agree, because runtimes do not order them. */
function decision(container: Container, name: string, args: readonly bigint[] = []): Decision {
  const { syscalls = [], defaultErrnoRet } = section(container);
  const matching = syscalls.filter((rule) => rule.names.includes(name) && hasArguments(rule, args));
  const found = new Set(matching.map(({ action, errnoRet }) => decisionOf(action, errnoRet)));
  assert.ok(found.size <= 1, `${name} is ${[...found].join(' and ')}`);
  return [...found][0] ?? decisionOf(DEFAULT_SECCOMP_PROFILE.defaultAction, defaultErrnoRet);
}

function hasArguments({ args = [] }: Rule, values: readonly bigint[]): boolean {
  return args.every(({ index, value, valueTwo = 0, op }) => {
    const actual = values[index] ?? 0n;
    if (op === 'SCMP_CMP_EQ') return actual === BigInt(value);
    if (op === 'SCMP_CMP_LT') return actual < BigInt(value);
    if (op === 'SCMP_CMP_GT') return actual > BigInt(value);
    assert.equal(op, 'SCMP_CMP_MASKED_EQ');
    return (actual & BigInt(value)) === BigInt(valueTwo);
  });
}

function decisionOf(action: string, errno: number | undefined): Decision {
  if (action === 'SCMP_ACT_ALLOW') return 'allow';
  assert.deepEqual([action, errno === 1 || errno === 38], ['SCMP_ACT_ERRNO', true]);
  return errno === 1 ? 'EPERM' : 'ENOSYS';
}

/** Calls that some capability allows, and all capabilities that do. */
const byCapability: Record<string, readonly string[]> = {
  acct: ['CAP_SYS_PACCT'],
  bpf: ['CAP_BPF', 'CAP_SYS_ADMIN'],
  chroot: ['CAP_SYS_CHROOT'],
  clock_settime: ['CAP_SYS_TIME'],
  fanotify_init: ['CAP_SYS_ADMIN'],
  finit_module: ['CAP_SYS_MODULE'],
  fsmount: ['CAP_SYS_ADMIN'],
  get_mempolicy: ['CAP_SYS_NICE'],
  init_module: ['CAP_SYS_MODULE'],
  iopl: ['CAP_SYS_RAWIO'],
  kcmp: ['CAP_SYS_PTRACE'],
  mount: ['CAP_SYS_ADMIN'],
  move_mount: ['CAP_SYS_ADMIN'],
  open_by_handle_at: ['CAP_DAC_READ_SEARCH'],
  perf_event_open: ['CAP_PERFMON', 'CAP_SYS_ADMIN'],
  pidfd_getfd: ['CAP_SYS_PTRACE'],
  reboot: ['CAP_SYS_BOOT'],
  sethostname: ['CAP_SYS_ADMIN'],
  setns: ['CAP_SYS_ADMIN'],
  syslog: ['CAP_SYSLOG', 'CAP_SYS_ADMIN'],
  umount2: ['CAP_SYS_ADMIN'],
  unshare: ['CAP_SYS_ADMIN'],
  vhangup: ['CAP_SYS_TTY_CONFIG'],
};

for (const [name, expected] of Object.entries(byCapability)) {
  test(`the default seccomp profile allows ${name} with ${expected.join(' or ')} only`, () => {
    const allowing = ALL_CAPABILITIES.filter((cap) => decision({ caps: [cap] }, name) === 'allow');
    assert.deepEqual([...allowing].sort(byCodePoint), expected);
    assert.deepEqual([decision({ caps: [] }, name), decision({ caps: ALL_CAPABILITIES }, name)], ['EPERM', 'allow']);
  });
}

const NEW_USER = 0x1000_0000n;
const SIGCHLD = 17n;
const UPPER_HALF = 1n << 32n;

const cases: Record<
  string,
  { container?: Container; calls: readonly (readonly [string, ...bigint[]])[]; is: Decision }
> = {
  'what every program does': {
    calls: 'accept4 execve exit_group fchmodat2 futex getrandom mmap openat ptrace read rseq seccomp statx write'
      .split(' ')
      .map((name): [string] => [name]),
    is: 'allow',
  },
  'the same without any capability': {
    container: { caps: [] },
    calls: [['openat'], ['setuid'], ['mknod'], ['kill'], ['ptrace'], ['socketcall']],
    is: 'allow',
  },
  'what no capability allows': {
    container: { caps: ALL_CAPABILITIES },
    calls: 'add_key io_uring_setup kexec_load keyctl move_pages pivot_root request_key swapon userfaultfd uselib'
      .split(' ')
      .map((name): [string] => [name]),
    is: 'EPERM',
  },
  'calls that nothing names': { calls: [['file_getattr'], ['of_the_future']], is: 'ENOSYS' },
  'tracing where a traced process can bypass the filter': {
    container: { kernel: '4.7.10' },
    calls: [['ptrace'], ['process_vm_readv']],
    is: 'EPERM',
  },
  'tracing there with the capability': {
    container: { kernel: '4.7.10', caps: ['CAP_SYS_PTRACE'] },
    calls: [['ptrace'], ['process_vm_writev']],
    is: 'allow',
  },
  'processes and threads': { calls: [['clone', SIGCHLD], ['clone', 0x3d_0f00n], ['fork']], is: 'allow' },
  'new namespaces': {
    calls: [
      ['clone', NEW_USER | SIGCHLD],
      ['clone', 0x2_0000n],
      ['clone', 0x200_0000n],
      ['clone', 0x6000_0000n],
      ['clone', UPPER_HALF | NEW_USER],
    ],
    is: 'EPERM',
  },
  'new namespaces with the capability': {
    container: { caps: ['CAP_SYS_ADMIN'] },
    calls: [['clone', NEW_USER], ['clone3']],
    is: 'allow',
  },
  'the flags of clone3, which a filter cannot see': { calls: [['clone3']], is: 'ENOSYS' },
  'new namespaces on s390x': { container: { architecture: 's390x' }, calls: [['clone', 0n, NEW_USER]], is: 'EPERM' },
  'a stack address on s390x': { container: { architecture: 's390x' }, calls: [['clone', NEW_USER, 0n]], is: 'allow' },
  'address families': {
    calls: [1n, 2n, 10n, 16n, 17n, 37n, 39n, 41n, 44n, 45n].map((family) => ['socket', family]),
    is: 'allow',
  },
  'AF_ALG, AF_VSOCK and unknown families': {
    calls: [38n, 40n, 46n, UPPER_HALF | 40n, UPPER_HALF | 38n].map((family) => ['socket', family]),
    is: 'EPERM',
  },
  personalities: {
    calls: [0n, 8n, 0x2_0000n, 0x2_0008n, 0xffff_ffffn].map((persona) => ['personality', persona]),
    is: 'allow',
  },
  'personalities that weaken memory protection': {
    calls: [0x4_0000n, 0x40_0000n].map((persona) => ['personality', persona]),
    is: 'ENOSYS',
  },
  'calls of amd64': { calls: [['arch_prctl'], ['modify_ldt']], is: 'allow' },
  'calls of arm64': {
    container: { architecture: 'arm64' },
    calls: [['cacheflush'], ['set_tls'], ['sync_file_range2']],
    is: 'allow',
  },
  'calls of another architecture': { container: { architecture: 'arm64' }, calls: [['arch_prctl']], is: 'ENOSYS' },
};

for (const [name, { container = {}, calls, is }] of Object.entries(cases)) {
  test(`the default seccomp profile: ${name}: ${is}`, () => {
    const found = calls.map(([call, ...args]) => [call, ...args, decision(container, call, args)]);
    assert.deepEqual(
      found,
      calls.map((call) => [...call, is]),
    );
  });
}

test('the default seccomp profile covers the 32-bit programs of an architecture', () => {
  const architectures = (architecture: string) => section({ architecture }).architectures;
  assert.deepEqual(architectures('amd64'), ['SCMP_ARCH_X86_64', 'SCMP_ARCH_X86', 'SCMP_ARCH_X32']);
  assert.deepEqual(architectures('arm64'), ['SCMP_ARCH_AARCH64', 'SCMP_ARCH_ARM']);
  assert.deepEqual(architectures('riscv64'), ['SCMP_ARCH_RISCV64']);
  assert.equal(architectures('ppc64le'), undefined); // the native one
});

test('the table names each system call once', () => {
  const groups = [...Object.values(ALLOWED), ...CONDITIONAL.map(({ names }) => names), ...Object.values(DENIED)];
  const names = groups.flatMap((group) => group.trim().split(/\s+/));
  const twice = names.filter((name, index) => names.indexOf(name) !== index);
  assert.deepEqual(twice, []);
});
