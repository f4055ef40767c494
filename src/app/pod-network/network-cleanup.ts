import { DEFAULT_PATH } from '../../base/default-path.ts';
import type { FileSystem } from '../../host/file-system.ts';
import type { Processes } from '../../host/processes.ts';
import {
  emptyPodChains,
  hasHostPortChains,
  hostPortChainRemoval,
  masqueradeRemoval,
  type NatChange,
  networkRemoval,
} from './nat-rules.ts';

export interface NetworkParts {
  readonly fs: FileSystem;
  readonly processes: Processes;
  /** The bridge of the pods, and the name of their network. */
  readonly bridge: string;
}

/** Facts that were read while there still were pods. */
export interface BeforeStop {
  readonly ownsHostPortChains: boolean;
  /** The result of `emptyChains`. */
  readonly emptyChains: readonly string[];
}

/** Removes the bridge and the rules of a network without pods. Idempotent. */
export async function removeNetwork(
  parts: NetworkParts,
  { ownsHostPortChains, emptyChains: emptyBefore }: BeforeStop,
  signal: AbortSignal,
): Promise<void> {
  await removeBridge(parts, signal);
  await removeStaleMasquerade(parts, [], signal);
  await changeNat(parts, networkRemoval(await savedNat(parts, signal), parts.bridge), signal);
  // A chain that was empty before the pods were removed is not being filled by a plugin just now.
  const abandoned = (await emptyChains(parts, signal)).filter((chain) => emptyBefore.includes(chain));
  for (const chain of abandoned) await changeNat(parts, [['-X', chain]], signal).catch(() => {}); // removed meanwhile
  if (!ownsHostPortChains) return;
  const removal = hostPortChainRemoval(await savedNat(parts, signal));
  await changeNat(parts, removal, signal).catch(() => signal.throwIfAborted()); // another network has started to use them
}

/** Removes masquerade rules of this network for ranges other than `podCidrs`: a crashed process left them. */
export async function removeStaleMasquerade(
  parts: NetworkParts,
  podCidrs: readonly string[],
  signal: AbortSignal,
): Promise<void> {
  await changeNat(parts, masqueradeRemoval(await savedNat(parts, signal), parts.bridge, podCidrs), signal);
}

/** A bridge keeps the gateway address of a previous pod range, which would fail the network setup of the next pod. */
export async function removeUnusedBridge(parts: NetworkParts, signal: AbortSignal): Promise<void> {
  const folder = `/sys/class/net/${parts.bridge}/brif`;
  const ports = (await parts.fs.stat(folder)) === undefined ? [] : await parts.fs.readDirectory(folder);
  if (ports.length === 0) await removeBridge(parts, signal);
}

/** Whether any network of this machine has host port chains: the portmap plugin shares them. */
export async function hostPortChainsExist(parts: NetworkParts, signal: AbortSignal): Promise<boolean> {
  return hasHostPortChains(await savedNat(parts, signal));
}

/** Chains that a plugin creates just now, or was creating when it was killed, of any network. */
export async function emptyChains(parts: NetworkParts, signal: AbortSignal): Promise<readonly string[]> {
  return emptyPodChains(await savedNat(parts, signal));
}

async function removeBridge(parts: NetworkParts, signal: AbortSignal): Promise<void> {
  if ((await parts.fs.stat(`/sys/class/net/${parts.bridge}`)) === undefined) return;
  await runTool(parts, 'ip', ['link', 'delete', parts.bridge], signal);
}

async function changeNat(parts: NetworkParts, changes: readonly NatChange[], signal: AbortSignal): Promise<void> {
  for (const change of changes) await runTool(parts, 'iptables', ['--wait', '-t', 'nat', ...change], signal);
}

function savedNat(parts: NetworkParts, signal: AbortSignal): Promise<string> {
  return runTool(parts, 'iptables-save', ['-t', 'nat'], signal);
}

async function runTool(
  { processes }: NetworkParts,
  program: string,
  args: readonly string[],
  signal: AbortSignal,
): Promise<string> {
  const { exitCode, stdout, stderr } = await processes.run({ program, args, env: { PATH: DEFAULT_PATH } }, signal);
  if (exitCode === 0) return new TextDecoder().decode(stdout);
  throw new Error(`${program} ${args.join(' ')}: exit code ${exitCode}: ${new TextDecoder().decode(stderr).trim()}`);
}
