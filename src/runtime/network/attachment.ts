import { buildRuntimeConfig } from './capability-args.ts';
import type { CniResult } from './cni-result.ts';
import { type CniVersion, isAtLeast } from './cni-version.ts';
import { HOST_PORTS_PLUGIN } from './host-ports.ts';
import type { JsonObject } from './json-object.ts';
import { hasCapability, type NetworkConfig, type PluginConfig } from './network-config.ts';
import type { NetworkedPod } from './pod-network.ts';

/** One pod on one network: everything that DEL needs, also after a restart. Stored as JSON. */
export interface Attachment {
  readonly network: NetworkConfig;
  readonly interfaceName: string;
  /** `undefined` until ADD has succeeded. */
  readonly result: CniResult | undefined;
}

/** The values shared by all networks of a pod. Stored as JSON. */
export interface AttachedPod {
  readonly sandboxId: string;
  readonly namespacePath: string;
  /** `CNI_ARGS`. */
  readonly args: string;
  readonly capabilityArgs: JsonObject;
}

export type CniCommand = 'ADD' | 'DEL' | 'CHECK' | 'STATUS' | 'GC';

export interface PluginCall {
  readonly command: CniCommand;
  readonly network: NetworkConfig;
  readonly plugin: PluginConfig;
  /** Fields added to the plugin's own configuration on its standard input. */
  readonly input: JsonObject;
  /** The CNI variables of a pod: empty for STATUS and GC. */
  readonly env: Readonly<Record<'CNI_CONTAINERID' | 'CNI_NETNS' | 'CNI_IFNAME' | 'CNI_ARGS', string>>;
}

export const NO_POD: PluginCall['env'] = { CNI_CONTAINERID: '', CNI_NETNS: '', CNI_IFNAME: '', CNI_ARGS: '' };

export function cniArgs({ sandboxId, namespace, name, uid }: Omit<NetworkedPod, 'dns'>): string {
  return [
    'IgnoreUnknown=1',
    `K8S_POD_NAMESPACE=${namespace}`,
    `K8S_POD_NAME=${name}`,
    `K8S_POD_INFRA_CONTAINER_ID=${sandboxId}`,
    `K8S_POD_UID=${uid}`,
  ].join(';');
}

export function newAttachments(networks: readonly NetworkConfig[]): Attachment[] {
  return networks.map((network, index) => ({ network, interfaceName: `eth${index}`, result: undefined }));
}

/** Builds the call of one plugin of the chain. `result` is that of the previous plugin (ADD) or of the whole chain. */
export function buildCall(
  command: 'ADD' | 'DEL' | 'CHECK',
  plugin: PluginConfig,
  { network, interfaceName, result }: Attachment,
  { sandboxId, namespacePath, args, capabilityArgs }: AttachedPod,
): PluginCall {
  const runtimeConfig = buildRuntimeConfig(plugin, capabilityArgs);
  const getsResult = result !== undefined && (command !== 'DEL' || isAtLeast(network.cniVersion, DEL_RESULT_SINCE));
  return {
    command,
    network,
    plugin,
    input: { ...(runtimeConfig ? { runtimeConfig } : {}), ...(getsResult ? { prevResult: result } : {}) },
    env: { CNI_CONTAINERID: sandboxId, CNI_NETNS: namespacePath, CNI_IFNAME: interfaceName, CNI_ARGS: args },
  };
}

/** Earlier versions of CNI pass no result to DEL. */
const DEL_RESULT_SINCE: CniVersion = '0.4.0';

const HOST_PORT_PLUGINS: readonly string[] = ['portmap', HOST_PORTS_PLUGIN];

/**
 * Returns the plugins that have work to do for this pod. portmap without host ports only passes its input on and has
 * nothing to delete: skipping it saves a process at each end of a pod. The decision depends only on cached values, so
 * DEL decides the same.
 */
export function activePlugins({ network }: Attachment, { capabilityArgs }: AttachedPod): readonly PluginConfig[] {
  const isIdle = (plugin: PluginConfig): boolean =>
    HOST_PORT_PLUGINS.includes(plugin.type) &&
    hasCapability(plugin, 'portMappings') &&
    capabilityArgs.portMappings === undefined;
  // The first plugin has no previous result to pass on.
  return network.plugins.filter((plugin, index) => index === 0 || !isIdle(plugin));
}
