import type { OciMount } from '../oci/oci-spec.ts';

/** Mounts of every container, unless it mounts something else there. */
export function defaultMounts({
  privileged,
  cgroupWritable,
}: {
  readonly privileged: boolean;
  readonly cgroupWritable: boolean;
}): OciMount[] {
  const access = privileged ? 'rw' : 'ro';
  return [
    PROC,
    DEV,
    {
      destination: '/dev/pts',
      type: 'devpts',
      source: 'devpts',
      options: ['nosuid', 'noexec', 'newinstance', 'ptmxmode=0666', 'mode=0620', 'gid=5'],
    },
    { destination: '/dev/mqueue', type: 'mqueue', source: 'mqueue', options: ['nosuid', 'noexec', 'nodev'] },
    { destination: '/sys', type: 'sysfs', source: 'sysfs', options: ['nosuid', 'noexec', 'nodev', access] },
    {
      destination: '/sys/fs/cgroup',
      type: 'cgroup',
      source: 'cgroup',
      options: ['nosuid', 'noexec', 'nodev', 'relatime', cgroupWritable ? 'rw' : access],
    },
  ];
}

export const PROC: OciMount = {
  destination: '/proc',
  type: 'proc',
  source: 'proc',
  options: ['nosuid', 'noexec', 'nodev'],
};

export const DEV: OciMount = {
  destination: '/dev',
  type: 'tmpfs',
  source: 'tmpfs',
  options: ['nosuid', 'strictatime', 'mode=755', 'size=65536k'],
};
