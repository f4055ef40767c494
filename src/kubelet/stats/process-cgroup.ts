/**
 * The cgroup of a process, from its `/proc/PID/cgroup`. `undefined` if no single cgroup counts both its CPU and its memory.
 * On version 1 systemd's own hierarchy comes first, as in kubelet.
 */
export function processCgroup(text: string, version: 'v1' | 'v2'): string | undefined {
  const paths = new Map<string, string>();
  for (const line of text.split('\n')) {
    const [, controllers, path] = /^\d+:([^:]*):(.*)$/.exec(line) ?? [];
    if (controllers === undefined || path === undefined) continue;
    for (const controller of controllers.split(',')) paths.set(controller, path);
  }
  if (version === 'v2') return paths.get('');
  const cpu = paths.get('cpu');
  if (cpu === undefined || cpu !== paths.get('memory')) return undefined;
  return paths.get('name=systemd') ?? cpu;
}
