import type { FileSystem } from '../../host/file-system.ts';
import type { Mounts } from '../../host/mounts.ts';
import type { Processes } from '../../host/processes.ts';
import { mountPointsBelow } from '../../kubelet/volumes/mount-points.ts';
import { findProcesses } from './find-processes.ts';
import {
  emptyPodChains,
  hasHostPortChains,
  hostPortChainRemoval,
  type NatChange,
  networkRemoval,
} from './nat-leftovers.ts';
import { SEARCH_PATH } from './programs.ts';
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

/** What was known of the machine while the daemon still ran. */
export interface BeforeStop {
  readonly ownsHostPortChains: boolean;
  /** Of `emptyChains`. */
  readonly emptyChains: readonly string[];
}

/** Takes away what a stopped daemon without pods leaves on the machine. Images stay. Nothing to do is fine. */
export async function removeLeftovers(
  parts: LeftoverParts,
  { ownsHostPortChains, emptyChains: emptyBefore }: BeforeStop,
  signal: AbortSignal,
): Promise<void> {
  const { fs, paths } = parts;
  await endShims(parts, signal);
  // A network without a pod ends with its mount, and its port of the bridge a moment later.
  await unmountBelow(parts, [paths.folder, paths.root]);
  await removeBridge(parts, signal);
  await changeNat(parts, networkRemoval(await savedNat(parts, signal), paths.bridge), signal);
  // What has been empty since before the daemon ended, no plugin is just filling.
  const abandoned = (await emptyChains(parts, signal)).filter((chain) => emptyBefore.includes(chain));
  for (const chain of abandoned) await changeNat(parts, [['-X', chain]], signal).catch(() => {}); // gone meanwhile
  if (ownsHostPortChains) await changeNat(parts, hostPortChainRemoval(await savedNat(parts, signal)), signal);
  await fs.removeTree(paths.folder);
  await fs.remove(paths.log);
  await fs.remove(paths.record); // last: a cleanup that is cut short starts over from it
}

/** A bridge keeps the gateway's address of an earlier pod range, which would fail the next pod's network. */
export async function removeUnusedBridge(parts: LeftoverParts, signal: AbortSignal): Promise<void> {
  const ports = await namesIn(parts.fs, `/sys/class/net/${parts.paths.bridge}/brif`);
  if (ports.length === 0) await removeBridge(parts, signal);
}

async function removeBridge(parts: LeftoverParts, signal: AbortSignal): Promise<void> {
  const { fs, paths } = parts;
  if ((await fs.stat(`/sys/class/net/${paths.bridge}`)) === undefined) return;
  await runTool(parts, 'ip', ['link', 'delete', paths.bridge], signal);
}

/** Of all networks of this machine together: the portmap plugin shares them. */
export async function hostPortChainsExist(parts: LeftoverParts, signal: AbortSignal): Promise<boolean> {
  return hasHostPortChains(await savedNat(parts, signal));
}

/** Chains that a plugin is just making, or was making when it was killed. They do not say for which network. */
export async function emptyChains(parts: LeftoverParts, signal: AbortSignal): Promise<readonly string[]> {
  return emptyPodChains(await savedNat(parts, signal));
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

async function changeNat(parts: LeftoverParts, changes: readonly NatChange[], signal: AbortSignal): Promise<void> {
  for (const change of changes) await runTool(parts, 'iptables', ['--wait', '-t', 'nat', ...change], signal);
}

function savedNat(parts: LeftoverParts, signal: AbortSignal): Promise<string> {
  return runTool(parts, 'iptables-save', ['-t', 'nat'], signal);
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

async function runTool(
  { processes }: LeftoverParts,
  program: string,
  args: readonly string[],
  signal: AbortSignal,
): Promise<string> {
  const { exitCode, stdout, stderr } = await processes.run({ program, args, env: { PATH: SEARCH_PATH } }, signal);
  if (exitCode === 0) return new TextDecoder().decode(stdout);
  throw new Error(`${program} ${args.join(' ')}: exit code ${exitCode}: ${new TextDecoder().decode(stderr).trim()}`);
}
