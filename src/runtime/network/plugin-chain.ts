import { type AttachedPod, type Attachment, activePlugins, buildCall, NO_POD } from './attachment.ts';
import { type CniResult, withVersion } from './cni-result.ts';
import { isAtLeast } from './cni-version.ts';
import type { NetworkConfig } from './network-config.ts';
import { type PluginDeps, PluginError, runAdd, runPlugin } from './run-plugin.ts';

/** ADD: each plugin gets the result of the previous one; the last result is the network's. */
export async function addToNetwork(
  attachment: Attachment,
  pod: AttachedPod,
  deps: PluginDeps,
  signal: AbortSignal,
): Promise<CniResult> {
  let result: CniResult | undefined;
  for (const plugin of activePlugins(attachment, pod)) {
    const call = buildCall('ADD', plugin, { ...attachment, result }, pod);
    result = withVersion(await runAdd(call, deps, signal), attachment.network);
  }
  if (!result) throw new Error(`network ${JSON.stringify(attachment.network.name)} has no plugins`);
  return result;
}

/** DEL in reverse order, each plugin with the result of the whole chain. CNI requires plugins to make it idempotent. */
export async function deleteFromNetwork(
  attachment: Attachment,
  pod: AttachedPod,
  deps: PluginDeps,
  signal: AbortSignal,
): Promise<void> {
  for (const plugin of activePlugins(attachment, pod).toReversed()) {
    try {
      await runPlugin(buildCall('DEL', plugin, attachment, pod), deps, signal);
    } catch (error) {
      if (!isAlreadyGone(error, pod)) throw error;
    }
  }
}

/** CHECK: rejects if the network is no longer as ADD left it. Skipped before CNI 0.4.0 and with `disableCheck`. */
export async function checkOnNetwork(
  attachment: Attachment,
  pod: AttachedPod,
  deps: PluginDeps,
  signal: AbortSignal,
): Promise<void> {
  const { cniVersion, disableCheck } = attachment.network;
  if (disableCheck || !isAtLeast(cniVersion, '0.4.0')) return;
  for (const plugin of activePlugins(attachment, pod)) {
    await runPlugin(buildCall('CHECK', plugin, attachment, pod), deps, signal);
  }
}

/** STATUS: rejects with the error of the first plugin that cannot accept pods. Not part of CNI before 1.1. */
export async function checkStatus(network: NetworkConfig, deps: PluginDeps, signal: AbortSignal): Promise<void> {
  if (!supportsStatus(network)) return;
  for (const plugin of network.plugins) {
    await runPlugin({ command: 'STATUS', network, plugin, input: {}, env: NO_POD }, deps, signal);
  }
}

export function supportsStatus({ cniVersion }: NetworkConfig): boolean {
  return isAtLeast(cniVersion, '1.1.0');
}

export interface ValidAttachment {
  readonly containerID: string;
  readonly ifname: string;
}

export function supportsGc({ cniVersion, disableGC }: NetworkConfig): boolean {
  return isAtLeast(cniVersion, '1.1.0') && !disableGC;
}

/** GC: calls every plugin, also after one has failed. Returns the errors. */
export async function collectNetwork(
  network: NetworkConfig,
  valid: readonly ValidAttachment[],
  deps: PluginDeps,
  signal: AbortSignal,
): Promise<unknown[]> {
  // The second name is a misprint in the first text of CNI 1.1.
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

/** Some plugins fail where CNI requires success; containerd ignores the same messages. */
function isAlreadyGone(error: unknown, { namespacePath }: AttachedPod): boolean {
  if (!(error instanceof PluginError) || error.message.includes('executable file not found')) return false;
  if (error.message.includes('not found')) return true;
  return namespacePath === '' && error.message.includes('no such file or directory');
}
