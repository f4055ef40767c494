import type { SeccompProfile, SeccompRule } from './spec-facts.ts';

const EPERM = 1;
const ENOSYS = 38;
const CLONE_NEWUSER = 0x1000_0000;

/** System calls that can take over or expose the host, by the capability that allows them. */
const FORBIDDEN: Readonly<Record<string, string>> = {
  '': 'add_key keyctl request_key kexec_load kexec_file_load nfsservctl sysfs _sysctl userfaultfd uselib ustat vm86 vm86old',
  CAP_SYS_ADMIN:
    'bpf fanotify_init fsconfig fsmount fsopen fspick lookup_dcookie mount mount_setattr move_mount open_tree ' +
    'perf_event_open pivot_root quotactl quotactl_fd setdomainname sethostname setns swapoff swapon umount umount2 unshare',
  CAP_DAC_READ_SEARCH: 'open_by_handle_at',
  CAP_SYS_BOOT: 'reboot',
  CAP_SYS_MODULE: 'create_module delete_module finit_module get_kernel_syms init_module query_module',
  CAP_SYS_NICE: 'get_mempolicy mbind migrate_pages move_pages set_mempolicy',
  CAP_SYS_PACCT: 'acct',
  CAP_SYS_RAWIO: 'ioperm iopl',
  CAP_SYS_TIME: 'clock_adjtime clock_adjtime64 clock_settime clock_settime64 settimeofday stime',
  CAP_SYS_TTY_CONFIG: 'vhangup',
};

/**
 * A new user namespace is as powerful as unshare(2). The flags of clone3(2) are in memory, where a filter cannot read
 * them: with ENOSYS, programs fall back to clone(2).
 */
const UNSHARING: readonly SeccompRule[] = [
  {
    names: ['clone'],
    action: 'SCMP_ACT_ERRNO',
    errnoRet: EPERM,
    args: [{ index: 0, value: CLONE_NEWUSER, valueTwo: CLONE_NEWUSER, op: 'SCMP_CMP_MASKED_EQ' }],
    ...unless('CAP_SYS_ADMIN'),
  },
  { names: ['clone3'], action: 'SCMP_ACT_ERRNO', errnoRet: ENOSYS, ...unless('CAP_SYS_ADMIN') },
];

/** For machines without a profile of their own: allows everything but the most dangerous calls. */
export const MINIMAL_SECCOMP_PROFILE: SeccompProfile = {
  defaultAction: 'SCMP_ACT_ALLOW',
  archMap: [
    { architecture: 'SCMP_ARCH_X86_64', subArchitectures: ['SCMP_ARCH_X86', 'SCMP_ARCH_X32'] },
    { architecture: 'SCMP_ARCH_AARCH64', subArchitectures: ['SCMP_ARCH_ARM'] },
  ],
  syscalls: [
    ...Object.entries(FORBIDDEN).map(
      ([capability, names]): SeccompRule => ({
        names: names.split(' '),
        action: 'SCMP_ACT_ERRNO',
        errnoRet: EPERM,
        ...unless(capability),
      }),
    ),
    ...UNSHARING,
  ],
};

function unless(capability: string): Pick<SeccompRule, 'includes' | 'excludes'> {
  const always = { arches: [], caps: [], minKernel: '' };
  return { includes: always, excludes: { ...always, caps: capability === '' ? [] : [capability] } };
}
