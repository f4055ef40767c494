/**
 * The cgroup that a process is accounted in, from its /proc/PID/cgroup. The systemd hierarchy of version 1 has precedence: it
 * has every process, while CPU and memory are accounted only where the unit asks for it. Throws with kubelet's message.
 */
export function cgroupOfProcess(text: string, version: 'v1' | 'v2'): string {
  const cgroups = new Map(text.split('\n').flatMap(parseLine));
  const cgroupOf = (controller: string, name: string): string => {
    const found = cgroups.get(controller);
    if (found === undefined) throw new Error(`mountpoint for ${name} not found`);
    return found;
  };
  if (version === 'v2') return cgroupOf('', 'unified');
  const cpu = cgroupOf('cpu', 'cpu');
  const memory = cgroupOf('memory', 'memory');
  if (cpu !== memory) {
    throw new Error(`cpu and memory cgroup hierarchy not unified.  cpu: ${cpu}, memory: ${memory}`);
  }
  return cgroups.get('name=systemd') ?? cpu;
}

/** `4:cpu,cpuacct:/kubelet`; version 2 has no controllers: `0::/kubelet`. */
function parseLine(line: string): readonly (readonly [controller: string, path: string])[] {
  const [, controllers, path] = /^[0-9]+:([^:]*):(.*)$/.exec(line) ?? [];
  if (controllers === undefined || path === undefined) return [];
  return controllers.split(',').map((controller) => [controller, path]);
}
