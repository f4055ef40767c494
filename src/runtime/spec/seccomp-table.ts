/**
 * The system calls of containers, by subject: the source of the `RuntimeDefault` profile. They are those of containerd
 * and Docker. A name that an architecture, kernel or libseccomp does not have is without effect.
 */

/** Allowed in every container. */
export const ALLOWED = {
  'open files': `
    close close_range creat dup dup2 dup3 fcntl fcntl64 flock name_to_handle_at open openat openat2 pipe pipe2`,
  'read and write': `
    _llseek copy_file_range fadvise64 fadvise64_64 fallocate fdatasync fsync ftruncate ftruncate64 ioctl lseek pread64
    preadv preadv2 pwrite64 pwritev pwritev2 read readahead readv sendfile sendfile64 splice sync sync_file_range syncfs
    tee truncate truncate64 vmsplice write writev`,
  directories: `
    chdir fchdir getcwd getdents getdents64 link linkat mkdir mkdirat mknod mknodat readlink readlinkat rename renameat
    renameat2 rmdir symlink symlinkat unlink unlinkat`,
  'attributes of files': `
    access cachestat chmod chown chown32 faccessat faccessat2 fchmod fchmodat fchmodat2 fchown fchown32 fchownat fstat
    fstat64 fstatat64 fstatfs fstatfs64 futimesat lchown lchown32 listmount lstat lstat64 newfstatat stat stat64 statfs
    statfs64 statmount statx umask utime utimensat utimensat_time64 utimes`,
  'extended attributes': `
    fgetxattr flistxattr fremovexattr fsetxattr getxattr getxattrat lgetxattr listxattr listxattrat llistxattr
    lremovexattr lsetxattr removexattr removexattrat setxattr setxattrat`,
  // fanotify_init requires CAP_SYS_ADMIN; a descriptor may be inherited.
  'waiting for events': `
    _newselect epoll_create epoll_create1 epoll_ctl epoll_ctl_old epoll_pwait epoll_pwait2 epoll_wait epoll_wait_old
    eventfd eventfd2 fanotify_mark inotify_add_watch inotify_init inotify_init1 inotify_rm_watch poll ppoll ppoll_time64
    pselect6 pselect6_time64 select`,
  // Not io_uring: its operations bypass the filter.
  'asynchronous input and output': `
    io_cancel io_destroy io_getevents io_pgetevents io_pgetevents_time64 io_setup io_submit ioprio_get ioprio_set`,
  memory: `
    brk madvise map_shadow_stack membarrier memfd_create memfd_secret mincore mlock mlock2 mlockall mmap mmap2 mprotect
    mremap mseal msync munlock munlockall munmap pkey_alloc pkey_free pkey_mprotect process_mrelease remap_file_pages`,
  // clone and clone3 are decided by their flags.
  processes: `
    execve execveat exit exit_group fork getpgid getpgrp getpid getppid getsid gettid kill pause pidfd_open
    pidfd_send_signal prctl restart_syscall rseq set_tid_address setpgid setsid tgkill tkill uretprobe vfork wait4 waitid
    waitpid`,
  threads: `
    futex futex_requeue futex_time64 futex_wait futex_waitv futex_wake get_robust_list get_thread_area set_robust_list
    set_thread_area`,
  scheduling: `
    getcpu getpriority sched_get_priority_max sched_get_priority_min sched_getaffinity sched_getattr sched_getparam
    sched_getscheduler sched_rr_get_interval sched_rr_get_interval_time64 sched_setaffinity sched_setattr sched_setparam
    sched_setscheduler sched_yield setpriority`,
  signals: `
    rt_sigaction rt_sigpending rt_sigprocmask rt_sigqueueinfo rt_sigreturn rt_sigsuspend rt_sigtimedwait
    rt_sigtimedwait_time64 rt_tgsigqueueinfo sigaltstack signalfd signalfd4 sigprocmask sigreturn`,
  'users and groups': `
    getegid getegid32 geteuid geteuid32 getgid getgid32 getgroups getgroups32 getresgid getresgid32 getresuid getresuid32
    getuid getuid32 setfsgid setfsgid32 setfsuid setfsuid32 setgid setgid32 setgroups setgroups32 setregid setregid32
    setresgid setresgid32 setresuid setresuid32 setreuid setreuid32 setuid setuid32`,
  // A process can confine itself further.
  confinement: `
    capget capset landlock_add_rule landlock_create_ruleset landlock_restrict_self lsm_get_self_attr lsm_list_modules
    lsm_set_self_attr seccomp`,
  // socket is decided by its address family. The arguments of socketcall (32-bit x86) are in memory.
  sockets: `
    accept accept4 bind connect getpeername getsockname getsockopt listen recv recvfrom recvmmsg recvmmsg_time64 recvmsg
    send sendmmsg sendmsg sendto setsockopt shutdown socketcall socketpair`,
  // The limits are those of the container's IPC namespace.
  'System V and POSIX IPC': `
    ipc mq_getsetattr mq_notify mq_open mq_timedreceive mq_timedreceive_time64 mq_timedsend mq_timedsend_time64 mq_unlink
    msgctl msgget msgrcv msgsnd semctl semget semop semtimedop semtimedop_time64 shmat shmctl shmdt shmget`,
  // adjtimex and clock_adjtime also read; the kernel requires CAP_SYS_TIME to change the clock.
  'time and timers': `
    adjtimex alarm clock_adjtime clock_adjtime64 clock_getres clock_getres_time64 clock_gettime clock_gettime64
    clock_nanosleep clock_nanosleep_time64 getitimer gettimeofday nanosleep setitimer time timer_create timer_delete
    timer_getoverrun timer_gettime timer_gettime64 timer_settime timer_settime64 timerfd_create timerfd_gettime
    timerfd_gettime64 timerfd_settime timerfd_settime64 times`,
  'limits and the system': `
    getrandom getrlimit getrusage prlimit64 setrlimit sysinfo ugetrlimit uname`,
} as const satisfies Readonly<Record<string, string>>;

/** Allowed on these architectures (Go's names) only. */
export const ALLOWED_ON: Readonly<Record<string, string>> = {
  amd64: 'arch_prctl modify_ldt',
  '386': 'modify_ldt',
  arm64: 'arm_fadvise64_64 arm_sync_file_range breakpoint cacheflush set_tls sync_file_range2',
  arm: 'arm_fadvise64_64 arm_sync_file_range breakpoint cacheflush set_tls sync_file_range2',
  ppc64le: 'swapcontext sync_file_range2',
  riscv64: 'riscv_flush_icache riscv_hwprobe',
  s390x: 's390_pci_mmio_read s390_pci_mmio_write s390_runtime_instr',
};

/** Allowed with one of the capabilities, or from a kernel on; denied otherwise. */
export const CONDITIONAL: readonly { readonly caps: readonly string[]; readonly minKernel?: string; names: string }[] =
  [
    { caps: ['CAP_DAC_READ_SEARCH'], names: 'open_by_handle_at' },
    {
      caps: ['CAP_SYS_ADMIN'],
      names: `
      fanotify_init fsconfig fsmount fsopen fspick lookup_dcookie mount mount_setattr move_mount open_tree quotactl
      quotactl_fd setdomainname sethostname setns umount umount2 unshare`,
    },
    { caps: ['CAP_SYS_ADMIN', 'CAP_BPF'], names: 'bpf' },
    { caps: ['CAP_SYS_ADMIN', 'CAP_PERFMON'], names: 'perf_event_open' },
    { caps: ['CAP_SYS_ADMIN', 'CAP_SYSLOG'], names: 'syslog' },
    { caps: ['CAP_SYS_BOOT'], names: 'reboot' },
    { caps: ['CAP_SYS_CHROOT'], names: 'chroot' },
    { caps: ['CAP_SYS_MODULE'], names: 'delete_module finit_module init_module' },
    { caps: ['CAP_SYS_NICE'], names: 'get_mempolicy mbind set_mempolicy set_mempolicy_home_node' },
    { caps: ['CAP_SYS_PACCT'], names: 'acct' },
    { caps: ['CAP_SYS_PTRACE'], names: 'kcmp pidfd_getfd process_madvise' },
    // Before Linux 4.8, a traced process could bypass its filter.
    { caps: ['CAP_SYS_PTRACE'], minKernel: '4.8', names: 'process_vm_readv process_vm_writev ptrace' },
    { caps: ['CAP_SYS_RAWIO'], names: 'ioperm iopl' },
    { caps: ['CAP_SYS_TIME'], names: 'clock_settime clock_settime64 settimeofday stime' },
    { caps: ['CAP_SYS_TTY_CONFIG'], names: 'vhangup' },
  ];

/**
 * Denied in every container that is not privileged. All calls that this file does not name answer ENOSYS, as on an older
 * kernel, so that programs use their fallback: a libseccomp does not know the names of newer calls.
 */
export const DENIED = {
  // The kernel's keyrings are not namespaced.
  keyrings: 'add_key keyctl request_key',
  'bypasses the filter': 'io_uring_enter io_uring_register io_uring_setup',
  'runs another kernel': 'kexec_file_load kexec_load',
  'memory of other processes': 'migrate_pages move_pages userfaultfd',
  'the root of the mount namespace': 'pivot_root',
  swap: 'swapoff swapon',
  obsolete: '_sysctl bdflush create_module get_kernel_syms nfsservctl query_module sysfs uselib ustat vm86 vm86old',
} as const satisfies Readonly<Record<string, string>>;

/** Execution domains: Linux, Linux for 32 bits, each also with UNAME26; and the query. */
export const PERSONALITIES = [0x0, 0x8, 0x2_0000, 0x2_0008, 0xffff_ffff];

/** Flags of clone(2) that create namespaces: mount, cgroup, UTS, IPC, user, PID, network. */
export const NAMESPACE_FLAGS = [0x2_0000, 0x200_0000, 0x400_0000, 0x800_0000, 0x1000_0000, 0x2000_0000, 0x4000_0000];

/**
 * Address families of socket(2), `AF_MCTP` being the last one that is known. Denied are `AF_ALG`, the kernel's
 * cryptography, and `AF_VSOCK`, which reaches the hypervisor and virtual machines whatever the network namespace.
 */
export const ADDRESS_FAMILIES = { last: 45, denied: [38, 40] };
