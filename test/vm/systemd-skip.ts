import { existsSync } from 'node:fs';

/** The `{ skip }` reason of a test that needs systemd and cgroup v2, else `false`. */
export function systemdSkipReason(): string | false {
  if (process.getuid?.() !== 0) return 'needs root';
  if (!existsSync('/run/systemd/system')) return 'systemd does not run on this machine';
  if (!existsSync('/sys/fs/cgroup/cgroup.controllers')) return 'this machine has no cgroup v2 alone';
  return false;
}
