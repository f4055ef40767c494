import type { ContainerImage, Node, NodeAddress, NodeStatus, NodeSystemInfo } from '../../../api/generated/core-v1.ts';
import { AddressError, type AddressView, nodeAddresses, providedIps } from '../addresses/node-addresses.ts';
import { type VolumesInUse, volumesInUse } from '../attachments/volumes-in-use.ts';
import { type NodeEvent, nodeStatusEvent } from '../node-event.ts';
import type { NodeSettings } from '../node-settings.ts';
import type { PressureCondition } from '../signals/pressure-condition.ts';
import { KUBERNETES_VERSION } from './kubernetes-version.ts';
import type { MachineIdentity } from './machine-identity.ts';
import { nodeConditions } from './node-conditions.ts';
import { type DeviceCounts, type MachineResources, type NodeResources, nodeResources } from './node-resources.ts';
import type { NodeRuntime } from './node-runtime.ts';

/** The inputs of the node object. */
export interface NodeInputs {
  readonly identity: MachineIdentity;
  readonly machine: MachineResources;
  readonly addresses: AddressView;
  readonly runtime: NodeRuntime;
  readonly images: readonly ContainerImage[];
  readonly pressure: ReadonlySet<PressureCondition>;
  /** Why the node is not ready. Empty: it is. */
  readonly notReadyReasons: readonly string[];
  /** Of device plugins. */
  readonly devices?: DeviceCounts | undefined;
  /** Absent while unknown: the reported ones stay. */
  readonly volumesInUse?: VolumesInUse | undefined;
  readonly nowMs: number;
}

export interface ComposedNode {
  readonly node: Node;
  /** Events to record once the node is written. */
  readonly events: readonly NodeEvent[];
  /** Errors of fields that kept their old value. */
  readonly errors: readonly string[];
}

const PROVIDED_IP = 'alpha.kubernetes.io/provided-node-ip';

/** The wanted node object, based on the API server's. Fields of other writers are kept. */
export function composeNode(before: Node, view: NodeInputs, settings: NodeSettings): ComposedNode {
  const status = before.status ?? {};
  const { addresses, errors } = composedAddresses(settings, view.addresses, status.addresses);
  const resources = nodeResources(view.machine, settings, status, view.devices);
  const notReadyReasons = [...view.notReadyReasons, ...missingCapacities(resources, settings)];
  const { conditions, events } = nodeConditions(status.conditions ?? [], { ...view, notReadyReasons });
  const { features = status.features, handlers } = view.runtime;
  const { volumesInUse: inUseBefore, ...others } = status;
  const inUse = volumesInUse(inUseBefore, view.volumesInUse);
  const composed: NodeStatus = {
    ...others,
    ...resources,
    conditions,
    addresses,
    daemonEndpoints: { kubeletEndpoint: { Port: settings.kubeletPort } },
    images: view.images,
    nodeInfo: nodeInfo(status.nodeInfo, view, settings),
    runtimeHandlers: handlers,
    declaredFeatures: settings.declaredFeatures,
    ...(features && { features }),
    ...(inUse.length > 0 && { volumesInUse: inUse }),
  };
  return {
    node: { ...before, metadata: composedMetadata(before, settings), status: composed },
    events: [
      ...rebootEvents(status.nodeInfo, view, settings),
      ...events.map((each) => nodeStatusEvent(settings.nodeName, each)),
    ],
    errors,
  };
}

function composedMetadata({ metadata }: Node, settings: NodeSettings): Node['metadata'] {
  const { [PROVIDED_IP]: _stale, ...annotations } = metadata.annotations ?? {};
  const provided = providedIps(settings);
  return {
    ...metadata,
    labels: { ...metadata.labels, 'kubernetes.io/os': 'linux', 'kubernetes.io/arch': settings.architecture },
    annotations: provided === undefined ? annotations : { ...annotations, [PROVIDED_IP]: provided },
  };
}

function composedAddresses(
  settings: NodeSettings,
  view: AddressView,
  before: readonly NodeAddress[] = [],
): { readonly addresses: readonly NodeAddress[]; readonly errors: readonly string[] } {
  try {
    return { addresses: nodeAddresses(settings, view, before), errors: [] };
  } catch (error) {
    if (error instanceof AddressError) return { addresses: before, errors: [error.message] };
    throw error;
  }
}

function missingCapacities({ capacity }: NodeResources, { hasEphemeralStorage }: NodeSettings): readonly string[] {
  const required = ['cpu', 'memory', 'pods', ...(hasEphemeralStorage ? ['ephemeral-storage'] : [])];
  const missing = required.filter((name) => capacity[name] === undefined);
  return missing.length === 0 ? [] : [`missing node capacity for resources: ${missing.join(', ')}`];
}

function nodeInfo(
  before: NodeSystemInfo | undefined,
  { identity, runtime }: NodeInputs,
  { architecture }: NodeSettings,
): NodeSystemInfo {
  return {
    ...before,
    machineID: identity.machineId,
    systemUUID: identity.systemUuid,
    bootID: identity.bootId,
    kernelVersion: identity.kernelVersion,
    osImage: identity.osImage,
    containerRuntimeVersion: runtime.version,
    kubeletVersion: KUBERNETES_VERSION,
    kubeProxyVersion: '',
    operatingSystem: 'linux',
    architecture,
    ...(identity.swapBytes > 0 && { swap: { capacity: identity.swapBytes } }),
  };
}

function rebootEvents(
  before: NodeSystemInfo | undefined,
  { identity: { bootId } }: NodeInputs,
  { nodeName }: NodeSettings,
): readonly NodeEvent[] {
  if (!before?.bootID || before.bootID === bootId) return [];
  const message = `Node ${nodeName} has been rebooted, boot id: ${bootId}`;
  return [{ type: 'Warning', reason: 'Rebooted', message }];
}
