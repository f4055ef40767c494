import assert from 'node:assert/strict';
import { test } from 'node:test';
import { APPARMOR_DENIALS, APPARMOR_INCLUDES, appArmorProfileText } from './default-apparmor-profile.ts';

test('the default AppArmor profile uses what the machine has', () => {
  const lines = appArmorProfileText({ includes: new Set(APPARMOR_INCLUDES), ownProfile: 'unconfined' }).split('\n');
  assert.deepEqual(lines.slice(0, 14), [
    'abi <abi/3.0>,',
    'include <tunables/global>',
    '',
    'profile nodelet-default flags=(attach_disconnected,mediate_deleted) {',
    '  include <abstractions/base>',
    '  network,',
    '  capability,',
    '  file,',
    '  umount,',
    '  signal (receive) peer=unconfined,',
    '  signal (receive) peer=crun,',
    '  signal (receive) peer=runc,',
    '  signal (send, receive) peer=nodelet-default,',
    '  ptrace (trace, tracedby, read, readby) peer=nodelet-default,',
  ]);
  assert.deepEqual(lines.slice(14), APPARMOR_DENIALS.map((denial) => `  deny ${denial},`).concat(['}', '']));
});

test('the default AppArmor profile is complete without files of the machine', () => {
  const text = appArmorProfileText({ includes: new Set(), ownProfile: '/usr/bin/nodelet' });
  assert.match(text, /^@\{PROC\}=\/proc\/\n\nprofile nodelet-default /);
  assert.doesNotMatch(text, /include|abi </);
  assert.match(text, /\n {2}signal \(receive\) peer=\/usr\/bin\/nodelet,\n/);
});

/** The permissions that are denied on a path. */
function denied(path: string): string {
  const letters = APPARMOR_DENIALS.flatMap((denial) => {
    const [glob = '', permissions = ''] = denial.split(' ');
    return globPattern(glob.replace('@{PROC}', '/proc')).test(path) ? [...permissions] : [];
  });
  return ['r', 'w', 'k', 'l', 'x'].filter((letter) => letters.includes(letter)).join('');
}

/** AppArmor's globs: `*` and `?` do not match a slash, `**` does, `{a,b}` are alternatives. */
function globPattern(glob: string): RegExp {
  const tokens = glob.matchAll(/\[[^\]]*\]|\*\*|[\s\S]/g);
  const parts = [...tokens].map(([token]) => {
    if (token === '**') return '[\\s\\S]*';
    if (token === '*') return '[^/]*';
    if (token === '?') return '[^/]';
    if (token === '{') return '(?:';
    if (token === '}') return ')';
    if (token === ',') return '|';
    return token.startsWith('[') ? token : token.replace(/[.+()|^$\\]/, '\\$&');
  });
  return new RegExp(`^${parts.join('')}$`);
}

const paths: Record<string, string> = {
  '/proc/meminfo': 'w',
  '/proc/kcore': 'rwklx',
  '/proc/sysrq-trigger': 'rwklx',
  '/proc/1/oom_score_adj': '',
  '/proc/27/attr/current': '',
  '/proc/999999/task/1/comm': '',
  '/proc/acpi/wakeup': 'w',
  '/proc/irq/7/smp_affinity': 'w',
  '/proc/fs/xfs/stat': 'w',
  '/proc/driver/nvidia/params': 'w',
  '/proc/scsi/scsi': 'w',
  '/proc/s/x': 'w',
  '/proc/sysvipc/msg': 'w',
  '/proc/tty/driver': 'w',
  '/proc/sys/net/ipv4/ip_forward': 'w',
  '/proc/sys/vm/overcommit_memory': 'w',
  '/proc/sys/fs/binfmt_misc/register': 'w',
  '/proc/sys/kernel/core_pattern': 'w',
  '/proc/sys/kernel/modprobe': 'w',
  '/proc/sys/kernel/hostname': 'w',
  '/proc/sys/kernel/sched_rt_runtime_us': 'w',
  '/proc/sys/kernel/seccomp/actions_logged': 'w',
  '/proc/sys/kernel/sysrq': 'w',
  '/proc/sys/kernel/semantics': 'w',
  '/proc/sys/kernel/shmmax': '',
  '/proc/sys/kernel/sem': '',
  '/sys/kernel/uevent_helper': 'wklx',
  '/sys/kernel/security/apparmor/.load': 'rwklx',
  '/sys/firmware/efi/efivars/x': 'rwklx',
  '/sys/devices/virtual/powercap/intel-rapl/energy_uj': 'rwklx',
  '/sys/class/net/eth0/mtu': 'wklx',
  '/sys/fs/bpf/map': 'wklx',
  '/sys/fs/selinux/enforce': 'wklx',
  '/sys/fs/cgroup/memory.max': '',
  '/sys/fs/cgroup/a/cgroup.procs': '',
  '/etc/passwd': '',
  '/data/proc/meminfo': '',
};

test('the default AppArmor profile denies writes to the machine through /proc and /sys', () => {
  const found = Object.keys(paths).map((path) => [path, denied(path)]);
  assert.deepEqual(Object.fromEntries(found), paths);
});
