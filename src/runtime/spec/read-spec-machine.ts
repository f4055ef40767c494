import type { FileSystem } from '../../host/file-system.ts';
import { capabilitiesFromMask } from './capabilities.ts';
import type { SpecMachine } from './spec-request.ts';

const CGROUPS = '/sys/fs/cgroup';

/** `architecture` is Go's name (`amd64`). SELinux is disabled, as in containerd's default configuration. */
export async function readSpecMachine(
  given: Pick<SpecMachine, 'architecture' | 'mayLowerOomScore' | 'cgroupDriver'>,
  fs: FileSystem,
): Promise<SpecMachine> {
  const [controllers, status, oomScore, hostname, kernel, appArmor] = await Promise.all([
    readIfExists(`${CGROUPS}/cgroup.controllers`, fs),
    readIfExists('/proc/self/status', fs),
    readIfExists('/proc/self/oom_score_adj', fs),
    readIfExists('/proc/sys/kernel/hostname', fs),
    readIfExists('/proc/sys/kernel/osrelease', fs),
    readIfExists('/sys/module/apparmor/parameters/enabled', fs),
  ]);
  const effective = new Set(capabilitiesFromMask(/^CapEff:\s*(\w+)/m.exec(status ?? '')?.[1] ?? '0'));
  const bounding = capabilitiesFromMask(/^CapBnd:\s*(\w+)/m.exec(status ?? '')?.[1] ?? '0');
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

/** The root cgroup of v2 has no such file; any other one shows it. */
async function countsSwapV2(fs: FileSystem): Promise<boolean> {
  const own = /^0::(.*)$/m.exec((await readIfExists('/proc/self/cgroup', fs)) ?? '')?.[1] ?? '/';
  if (own !== '/') return exists(`${CGROUPS}${own}/memory.swap.max`, fs);
  const groups = (await fs.readDirectory(CGROUPS)).filter(({ kind }) => kind === 'directory');
  const found = await Promise.all(groups.map(({ name }) => exists(`${CGROUPS}/${name}/memory.swap.max`, fs)));
  return found.includes(true);
}

async function exists(path: string, fs: FileSystem): Promise<boolean> {
  return (await fs.stat(path)) !== undefined;
}

async function readIfExists(path: string, fs: FileSystem): Promise<string | undefined> {
  return (await fs.stat(path)) === undefined ? undefined : fs.readText(path);
}
