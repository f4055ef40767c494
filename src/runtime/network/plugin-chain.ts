import { type AttachedPod, type Attachment, callFor, NO_POD, pluginsFor } from './attachment.ts';
import { type CniResult, versionedResult } from './cni-result.ts';
import { isAtLeast } from './cni-version.ts';
import type { NetworkConfig } from './network-config.ts';
import { type PluginDeps, PluginError, runForResult, runPlugin } from './run-plugin.ts';

/** ADD: each plugin gets the result of the one before; the last one's is the network's. */
export async function addToNetwork(
  attachment: Attachment,
  pod: AttachedPod,
  deps: PluginDeps,
  signal: AbortSignal,
): Promise<CniResult> {
  let result: CniResult | undefined;
  for (const plugin of pluginsFor(attachment, pod)) {
    const call = callFor('ADD', plugin, { ...attachment, result }, pod);
    result = versionedResult(await runForResult(call, deps, signal), attachment.network);
  }
  if (!result) throw new Error(`network ${JSON.stringify(attachment.network.name)} has no plugins`);
  return result;
}

/** DEL, the last plugin first, each with the result of the whole chain. Safe to repeat: CNI demands it of plugins. */
export async function deleteFromNetwork(
  attachment: Attachment,
  pod: AttachedPod,
  deps: PluginDeps,
  signal: AbortSignal,
): Promise<void> {
  for (const plugin of pluginsFor(attachment, pod).toReversed()) {
    try {
      await runPlugin(callFor('DEL', plugin, attachment, pod), deps, signal);
    } catch (error) {
      if (!saysItIsGone(error, pod)) throw error;
    }
  }
}

/** CHECK: rejects when the network is no longer as ADD left it. Older configurations and those that forbid it pass. */
export async function checkOnNetwork(
  attachment: Attachment,
  pod: AttachedPod,
  deps: PluginDeps,
  signal: AbortSignal,
): Promise<void> {
  const { cniVersion, disableCheck } = attachment.network;
  if (disableCheck || !isAtLeast(cniVersion, '0.4.0')) return;
  for (const plugin of pluginsFor(attachment, pod)) {
    await runPlugin(callFor('CHECK', plugin, attachment, pod), deps, signal);
  }
}

/** STATUS: rejects with the first plugin that cannot take pods now. Before 1.1 nobody could ask. */
export async function askStatus(network: NetworkConfig, deps: PluginDeps, signal: AbortSignal): Promise<void> {
  if (!canBeAsked(network)) return;
  for (const plugin of network.plugins) {
    await runPlugin({ command: 'STATUS', network, plugin, input: {}, env: NO_POD }, deps, signal);
  }
}

export function canBeAsked({ cniVersion }: NetworkConfig): boolean {
  return isAtLeast(cniVersion, '1.1.0');
}

export interface ValidAttachment {
  readonly containerID: string;
  readonly ifname: string;
}

export function isCollectable({ cniVersion, disableGC }: NetworkConfig): boolean {
  return isAtLeast(cniVersion, '1.1.0') && !disableGC;
}

/** GC: every plugin is asked, also after one has failed. What failed is the answer. */
export async function collectNetwork(
  network: NetworkConfig,
  valid: readonly ValidAttachment[],
  deps: PluginDeps,
  signal: AbortSignal,
): Promise<unknown[]> {
  // The second name is that of a misprint in the first text of CNI 1.1.
  const input = { 'cni.dev/valid-attachments': valid, 'cni.dev/attachments': valid };
  const failures: unknown[] = [];
  for (const plugin of network.plugins) {
    try {
      await runPlugin({ command: 'GC', network, plugin, input, env: NO_POD }, deps, signal);
    } catch (error) {
      failures.push(error);
    }
  }
  return failures;
}

/** Some plugins fail where CNI wants them to shrug; the texts are those that containerd forgives. */
function saysItIsGone(error: unknown, { namespacePath }: AttachedPod): boolean {
  if (!(error instanceof PluginError) || error.message.includes('executable file not found')) return false;
  if (error.message.includes('not found')) return true;
  return namespacePath === '' && error.message.includes('no such file or directory');
}
