import { DEFAULT_PATH } from '../../base/default-path.ts';
import type { FileSystem } from '../../host/file-system.ts';
import type { Processes } from '../../host/processes.ts';
import { ensureMasquerade, type NatBackend, removeTable } from '../../runtime/network/default-bridge.ts';
import { hasTable } from '../../runtime/network/nft-table.ts';
import type { IptablesPrograms } from './nat-backend.ts';
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
  /** The iptables rules that may have some of ours: also those from before the machine was switched to other programs. */
  readonly ruleSets: readonly IptablesPrograms[];
  /** Whether `nft` is usable. */
  readonly hasNft: boolean;
}

/** Facts that were read while there still were pods. */
export interface BeforeStop {
  readonly ownsHostPortChains: boolean;
  /** The result of `emptyChains`. */
  readonly emptyChains: readonly string[];
}

/** Removes the bridge and all rules of a network without pods, whatever created them. Idempotent. */
export async function removeNetwork(parts: NetworkParts, before: BeforeStop, signal: AbortSignal): Promise<void> {
  await removeBridge(parts, signal);
  if (parts.hasNft) await removeTable(parts.processes, parts.bridge, signal);
  for (const rules of parts.ruleSets) await removeRules(parts, rules, before, signal);
}

async function removeRules(
  parts: NetworkParts,
  rules: IptablesPrograms,
  { ownsHostPortChains, emptyChains: emptyBefore }: BeforeStop,
  signal: AbortSignal,
): Promise<void> {
  const saved = await savedNat(parts, rules, signal);
  await changeNat(parts, rules, masqueradeRemoval(saved, parts.bridge, []), signal);
  await changeNat(parts, rules, networkRemoval(saved, parts.bridge), signal);
  // A chain that was empty before the pods were removed is not being filled by a plugin just now.
  const remaining = await savedNat(parts, rules, signal);
  const abandoned = emptyPodChains(remaining).filter((chain) => emptyBefore.includes(chain));
  for (const chain of abandoned) await changeNat(parts, rules, [['-X', chain]], signal).catch(() => {}); // removed meanwhile
  if (!ownsHostPortChains) return;
  const removal = hostPortChainRemoval(remaining);
  await changeNat(parts, rules, removal, signal).catch(() => signal.throwIfAborted()); // another network has started to use them
}

/** The packages without which the rules of some of these backends cannot be removed. */
export function packagesForRemoval(
  { ruleSets, hasNft }: Pick<NetworkParts, 'ruleSets' | 'hasNft'>,
  backends: readonly NatBackend[],
): readonly NatBackend[] {
  return backends.filter((backend) => (backend === 'nftables' ? !hasNft : ruleSets.length === 0));
}

/** Removes masquerade rules of this network for ranges other than `podCidrs`: a crashed process left them. */
export async function removeStaleMasquerade(
  parts: NetworkParts,
  podCidrs: readonly string[],
  signal: AbortSignal,
): Promise<void> {
  const { bridge, processes } = parts;
  for (const rules of parts.ruleSets) {
    await changeNat(parts, rules, masqueradeRemoval(await savedNat(parts, rules, signal), bridge, podCidrs), signal);
  }
  // The table of a network without nftables is from before the machine was switched: pods may still have host ports there.
  if (parts.hasNft && hasTable(await runTool(parts, 'nft', ['list', 'tables'], signal), bridge)) {
    await ensureMasquerade(processes, { backend: 'nftables', bridge, podCidrs }, signal);
  }
}

/** A bridge keeps the gateway address of a previous pod range, which would fail the network setup of the next pod. */
export async function removeUnusedBridge(parts: NetworkParts, signal: AbortSignal): Promise<void> {
  const folder = `/sys/class/net/${parts.bridge}/brif`;
  const ports = (await parts.fs.stat(folder)) === undefined ? [] : await parts.fs.readDirectory(folder);
  if (ports.length === 0) await removeBridge(parts, signal);
}

/** Whether any network of this machine has host port chains: the portmap plugin shares them. */
export async function hostPortChainsExist(parts: NetworkParts, signal: AbortSignal): Promise<boolean> {
  return (await allSaved(parts, signal)).some(hasHostPortChains);
}

/** Chains that a plugin creates just now, or was creating when it was killed, of any network. */
export async function emptyChains(parts: NetworkParts, signal: AbortSignal): Promise<readonly string[]> {
  return (await allSaved(parts, signal)).flatMap(emptyPodChains);
}

function allSaved(parts: NetworkParts, signal: AbortSignal): Promise<readonly string[]> {
  return Promise.all(parts.ruleSets.map((rules) => savedNat(parts, rules, signal)));
}

async function removeBridge(parts: NetworkParts, signal: AbortSignal): Promise<void> {
  if ((await parts.fs.stat(`/sys/class/net/${parts.bridge}`)) === undefined) return;
  await runTool(parts, 'ip', ['link', 'delete', parts.bridge], signal);
}

async function changeNat(
  parts: NetworkParts,
  { change: program }: IptablesPrograms,
  changes: readonly NatChange[],
  signal: AbortSignal,
): Promise<void> {
  for (const change of changes) await runTool(parts, program, ['--wait', '-t', 'nat', ...change], signal);
}

async function savedNat(parts: NetworkParts, programs: IptablesPrograms, signal: AbortSignal): Promise<string> {
  try {
    return await runTool(parts, programs.save, ['-t', 'nat'], signal);
  } catch (error) {
    signal.throwIfAborted();
    if (!programs.mayFail) throw error;
    return '';
  }
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
