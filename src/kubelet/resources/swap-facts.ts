import type { FileSystem } from '../../host/file-system.ts';
import { MountError, type Mounts } from '../../host/mounts.ts';
import { type KernelVersion, kernelAtLeast } from './host-facts.ts';

/** Facts about swap that do not change while the agent runs. */
export interface SwapFacts {
  readonly isOn: boolean;
  /** The kernel mounts a tmpfs whose content stays in memory. */
  readonly tmpfsNoswap: boolean;
}

export interface SwapFactsDeps {
  readonly fs: FileSystem;
  readonly mounts: Mounts;
}

/** `folder`: a folder of the agent, where it may mount. */
export async function readSwapFacts(deps: SwapFactsDeps, kernel: KernelVersion, folder: string): Promise<SwapFacts> {
  return { isOn: await isSwapOn(deps.fs), tmpfsNoswap: await supportsNoswap(deps, kernel, folder) };
}

/** The file has a header and a line for each swap area. A kernel without swap has no such file. */
export async function isSwapOn(fs: FileSystem): Promise<boolean> {
  if ((await fs.stat('/proc/swaps')) === undefined) return false;
  return (await fs.readText('/proc/swaps')).trim().split('\n').length > 1;
}

/** Linux 6.4 and later have the option outside of user namespaces. Some older kernels have it too, so they are tried. */
async function supportsNoswap({ fs, mounts }: SwapFactsDeps, kernel: KernelVersion, folder: string): Promise<boolean> {
  if (kernel.major === 0 || (await isInUserNamespace(fs))) return false;
  if (kernelAtLeast(kernel, 6, 4)) return true;
  const target = `${folder}/tmpfs-noswap-test`;
  try {
    await fs.makeDirectory(target, 0o700);
    await mounts.mount({ source: 'tmpfs', target, type: 'tmpfs', data: 'noswap' });
    return true;
  } catch (error) {
    if (error instanceof MountError) return false;
    throw error;
  } finally {
    await mounts.unmount(target);
    await fs.remove(target);
  }
}

/** The initial user namespace maps all ids to themselves. */
async function isInUserNamespace(fs: FileSystem): Promise<boolean> {
  if ((await fs.stat('/proc/self/uid_map')) === undefined) return false;
  return !/^\s*0\s+0\s+4294967295\s*$/.test(await fs.readText('/proc/self/uid_map'));
}
