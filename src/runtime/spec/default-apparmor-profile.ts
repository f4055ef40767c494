/** Name of the AppArmor profile of `RuntimeDefault`. */
export const APPARMOR_DEFAULT = 'nodelet-default';

/** What the text of the profile depends on. */
export interface AppArmorPolicy {
  /** Files below `/etc/apparmor.d` that exist, of `APPARMOR_INCLUDES`. */
  readonly includes: ReadonlySet<string>;
  /** The profile of this process, or `unconfined`. */
  readonly ownProfile: string;
}

export const APPARMOR_INCLUDES = ['abi/3.0', 'tunables/global', 'abstractions/base'] as const;

/** Profiles of programs that signal containers. Some distributions give OCI runtimes a profile of their own. */
const SIGNALLING = ['unconfined', 'crun', 'runc'];

/** Everything but `sys` and the directories of processes. */
const PROC_DIRECTORIES = '{[^1-9s/]*,s,s[^y/]*,sy,sy[^s/]*,sys[^/]*}';
/** Everything but `shm*` and `sem`, which belong to the container's IPC namespace. */
const KERNEL_SYSCTLS = '{[^s]**,s,s[^he]**,sh,sh[^m]**,se,se[^m]**,sem?**}';
/** Everything but `fs/cgroup`, whose files the mount protects. */
const SYS_DIRECTORIES = '{[^f/]*,f,f[^s/]*,fs?*,fs/[^c/]*,fs/c,fs/c[^g/]*,fs/cg,fs/cg[^r/]*}';

/** What a container may not do to the machine, even as root. The permissions are those of containerd and Docker. */
export const APPARMOR_DENIALS = [
  'mount',
  '@{PROC}/* w',
  `@{PROC}/${PROC_DIRECTORIES}/** w`,
  '@{PROC}/sys/[^k/]** w',
  `@{PROC}/sys/kernel/${KERNEL_SYSCTLS} w`,
  '@{PROC}/sysrq-trigger rwklx',
  '@{PROC}/kcore rwklx',
  `/sys/${SYS_DIRECTORIES}/** wklx`,
  '/sys/firmware/** rwklx',
  '/sys/devices/virtual/powercap/** rwklx',
  '/sys/kernel/security/** rwklx',
];

/** Returns the profile for apparmor_parser. A denial takes precedence over what is allowed. */
export function appArmorProfileText({ includes, ownProfile }: AppArmorPolicy): string {
  const peers = new Set([...SIGNALLING, ownProfile]);
  const rules = [
    ...(includes.has('abstractions/base') ? ['include <abstractions/base>'] : []),
    ...['network', 'capability', 'file', 'umount'].map(terminated),
    ...[...peers].map((peer) => terminated(`signal (receive) peer=${peer}`)),
    terminated(`signal (send, receive) peer=${APPARMOR_DEFAULT}`),
    terminated(`ptrace (trace, tracedby, read, readby) peer=${APPARMOR_DEFAULT}`),
    ...APPARMOR_DENIALS.map((denial) => terminated(`deny ${denial}`)),
  ];
  return [
    ...(includes.has('abi/3.0') ? ['abi <abi/3.0>,'] : []),
    includes.has('tunables/global') ? 'include <tunables/global>' : '@{PROC}=/proc/',
    '',
    `profile ${APPARMOR_DEFAULT} flags=(attach_disconnected,mediate_deleted) {`,
    ...rules.map((rule) => `  ${rule}`),
    '}',
    '',
  ].join('\n');
}

function terminated(rule: string): string {
  return `${rule},`;
}
