import type { FileSystem } from '../../host/file-system.ts';
import { capabilitiesOfMask } from './capabilities.ts';
import type { SpecMachine } from './spec-request.ts';

const CGROUPS = '/sys/fs/cgroup';

/** `architecture` in Go's words (`amd64`). SELinux stays out, as below a containerd that nobody told otherwise. */
export async function readSpecMachine(
  given: Pick<SpecMachine, 'architecture' | 'mayLowerOomScore'>,
  fs: FileSystem,
): Promise<SpecMachine> {
  const [controllers, status, oomScore, hostname, kernel, appArmor] = await Promise.all([
    textOf(`${CGROUPS}/cgroup.controllers`, fs),
    textOf('/proc/self/status', fs),
    textOf('/proc/self/oom_score_adj', fs),
    textOf('/proc/sys/kernel/hostname', fs),
    textOf('/proc/sys/kernel/osrelease', fs),
    textOf('/sys/module/apparmor/parameters/enabled', fs),
  ]);
  const effective = new Set(capabilitiesOfMask(/^CapEff:\s*(\w+)/m.exec(status ?? '')?.[1] ?? '0'));
  const bounding = capabilitiesOfMask(/^CapBnd:\s*(\w+)/m.exec(status ?? '')?.[1] ?? '0');
  const isV2 = controllers !== undefined;
  return {
    ...given,
    cgroupVersion: isV2 ? 'v2' : 'v1',
    hugePages: isV2 ? controllers.split(/\s+/).includes('hugetlb') : await exists(`${CGROUPS}/hugetlb/tasks`, fs),
    swapAccounting: isV2 ? await countsSwapV2(fs) : await exists(`${CGROUPS}/memory/memory.memsw.limit_in_bytes`, fs),
    appArmor: appArmor?.startsWith('Y') === true,
    selinux: false,
    seccomp: /^Seccomp:/m.test(status ?? ''),
    ownOomScoreAdj: Number(oomScore ?? 0),
    hostname: (hostname ?? 'localhost').trim(),
    kernel: (kernel ?? '').trim(),
    capabilities: bounding.filter((name) => effective.has(name)),
  };
}

/** The topmost group of v2 has no such file; any other tells. */
async function countsSwapV2(fs: FileSystem): Promise<boolean> {
  const own = /^0::(.*)$/m.exec((await textOf('/proc/self/cgroup', fs)) ?? '')?.[1] ?? '/';
  if (own !== '/') return exists(`${CGROUPS}${own}/memory.swap.max`, fs);
  const groups = (await fs.readDirectory(CGROUPS)).filter(({ kind }) => kind === 'directory');
  const found = await Promise.all(groups.map(({ name }) => exists(`${CGROUPS}/${name}/memory.swap.max`, fs)));
  return found.includes(true);
}

async function exists(path: string, fs: FileSystem): Promise<boolean> {
  return (await fs.stat(path)) !== undefined;
}

async function textOf(path: string, fs: FileSystem): Promise<string | undefined> {
  return (await fs.stat(path)) === undefined ? undefined : fs.readText(path);
}
