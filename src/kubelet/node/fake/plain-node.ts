import { parseQuantity } from '../../../base/quantity.ts';
import type { NodeSettings } from '../node-settings.ts';

/** A node with kubelet's defaults, one address and one threshold. */
export const PLAIN_NODE: NodeSettings = {
  nodeName: 'box',
  rootDir: '/var/lib/kubelet',
  architecture: 'amd64',
  labels: {},
  taints: [],
  isCloudExternal: false,
  providerId: '',
  registers: true,
  controllerAttaches: true,
  nodeIps: ['192.0.2.1'],
  maxPods: 110,
  podsPerCore: 0,
  maxImages: 50,
  systemReserved: new Map(),
  kubeReserved: new Map(),
  reservedCpus: 0,
  thresholds: [{ signal: 'nodefs.available', value: { quantity: parseQuantity('1Gi') }, gracePeriodMs: 0 }],
  reservesThresholds: true,
  enforcesPods: true,
  podsCgroup: '/kubepods',
  pressureTransitionMs: 300_000,
  hasEphemeralStorage: true,
  kubeletPort: 10_250,
  statusUpdateMs: 10_000,
  statusReportMs: 300_000,
  leaseSeconds: 40,
  declaredFeatures: ['RestartAllContainersOnContainerExits'],
};
