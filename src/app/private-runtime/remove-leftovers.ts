import type { FileSystem } from '../../host/file-system.ts';
import type { Mounts } from '../../host/mounts.ts';
import type { Processes } from '../../host/processes.ts';
import { mountPointsBelow } from '../../kubelet/volumes/mount-points.ts';
import { type BeforeStop, removeNetwork } from '../pod-network/network-leftovers.ts';
import { findProcesses } from './find-processes.ts';
import type { RuntimePaths } from './runtime-paths.ts';

export interface LeftoverParts {
  readonly fs: FileSystem;
  readonly mounts: Mounts;
  readonly processes: Processes;
  readonly paths: RuntimePaths;
}

/**
 * Whether something runs in the containers of this runtime, or may: without asking the daemon, which may be gone. A
 * sandbox that has no more than a network yet, because the daemon ended while it was made or taken back, is no pod.
 */
export async function hasPods({ fs, paths }: LeftoverParts): Promise<boolean> {
  const bundles = `${paths.state}/io.containerd.runtime.v2.task/k8s.io`;
  return (await namesIn(fs, bundles)).length > 0;
}

/** Whether the daemon holds nothing of a pod, not even of a sandbox that it is still making or taking back. */
export async function isEmpty(parts: LeftoverParts): Promise<boolean> {
  const ofCri = `${parts.paths.state}/io.containerd.grpc.v1.cri`;
  const held = [...(await namesIn(parts.fs, `${ofCri}/sandboxes`)), ...(await namesIn(parts.fs, `${ofCri}/netns`))];
  return held.length === 0 && !(await hasPods(parts));
}

/** Takes away what a stopped daemon without pods leaves on the machine. Images stay. Nothing to do is fine. */
export async function removeLeftovers(parts: LeftoverParts, before: BeforeStop, signal: AbortSignal): Promise<void> {
  const { fs, paths } = parts;
  await endShims(parts, signal);
  // A network without a pod ends with its mount, and its port of the bridge a moment later.
  await unmountBelow(parts, [paths.folder, paths.root]);
  await removeNetwork({ ...parts, bridge: paths.bridge }, before, signal);
  await fs.removeTree(paths.folder);
  await fs.remove(paths.log);
  await fs.remove(paths.record); // last: a cleanup that is cut short starts over from it
}

/** When a start is broken off at the wrong moment, containerd forgets the shim that it has just started. */
async function endShims(parts: LeftoverParts, signal: AbortSignal): Promise<void> {
  const { processes, paths } = parts;
  const isShim = (program: string, args: readonly string[]): boolean =>
    /(^|\/)containerd-shim-[^/]*$/.test(program) && args[args.indexOf('-address') + 1] === paths.socket;
  for (const shim of await findProcesses(parts, isShim)) {
    await processes.kill(shim, 'SIGKILL');
    await processes.waitForExit(shim, signal);
  }
}

async function unmountBelow(parts: LeftoverParts, folders: readonly string[]): Promise<void> {
  for (const folder of folders) {
    const below = await mountPointsBelow(folder, parts);
    for (const path of below.toReversed()) await parts.mounts.unmount(path, { lazy: true });
  }
}

async function namesIn(fs: FileSystem, folder: string): Promise<readonly string[]> {
  if ((await fs.stat(folder)) === undefined) return [];
  return (await fs.readDirectory(folder)).map(({ name }) => name);
}
