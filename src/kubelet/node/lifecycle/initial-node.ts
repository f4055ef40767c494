import type { Node, Taint } from '../../../api/generated/core-v1.ts';
import type { NodeSettings } from '../node-settings.ts';

export const ATTACH_DETACH = 'volumes.kubernetes.io/controller-managed-attach-detach';

const CLOUD_TAINT: Taint = {
  key: 'node.cloudprovider.kubernetes.io/uninitialized',
  value: 'true',
  effect: 'NoSchedule',
};

/** The node object as it is registered, without its status. */
export function initialNode(settings: NodeSettings): Node {
  const { nodeName, isCloudExternal, providerId, controllerAttaches } = settings;
  const taints = [...settings.taints, ...(isCloudExternal ? [CLOUD_TAINT] : [])];
  return {
    apiVersion: 'v1',
    kind: 'Node',
    metadata: {
      name: nodeName,
      labels: { ...ownLabels(settings), ...settings.labels },
      ...(controllerAttaches && { annotations: { [ATTACH_DETACH]: 'true' } }),
    },
    spec: { ...(taints.length > 0 && { taints }), ...(providerId !== '' && { providerID: providerId }) },
  };
}

/** The default labels of a node. */
export function ownLabels({
  nodeName,
  architecture,
}: Pick<NodeSettings, 'nodeName' | 'architecture'>): Readonly<Record<string, string>> {
  return {
    'kubernetes.io/hostname': nodeName,
    'kubernetes.io/os': 'linux',
    'kubernetes.io/arch': architecture,
    'beta.kubernetes.io/os': 'linux',
    'beta.kubernetes.io/arch': architecture,
  };
}
