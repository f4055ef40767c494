import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { BUSYBOX_IMAGE } from '../../src/app/images/local-images.ts';
import { addEmbeddedNode, embeddedNodeSkipReason } from './cluster-embedded-node.ts';
import { type ControlPlane, podOn } from './cluster-fixture.ts';
import { skipReason as containerdSkipReason, startContainerd } from './containerd-fixture.ts';
import { goKubeletSkipReason, startGoKubelet } from './go-kubelet.ts';
import { NODELET_KUBELET, nodeletNodeSkipReason } from './nodelet-node.ts';

/** A node beside others of one cluster, with its own runtime. */
export interface JudgedNode {
  /** `10.0.0.1:10250` */
  readonly address: string;
  stopAgent(): Promise<void>;
  stop(): Promise<void>;
}

/** kubelet on containerd, Nodelet on containerd, and Nodelet with its own runtime. */
export const NODES = ['kubelet', 'nodelet', 'embedded'] as const;
export type NodeName = (typeof NODES)[number];

/** Statistics of volumes are read often enough for a test. */
const CONFIG = { volumeStatsAggPeriod: '5s' };
const CLAIM_SIZE = { storage: '1Gi' };

/** The `{ skip }` reason of a test when it cannot run here, else `false`. */
export function nodesSkipReason(): string | false {
  return goKubeletSkipReason() || containerdSkipReason() || nodeletNodeSkipReason() || embeddedNodeSkipReason();
}

/** Resolves when the node is ready. */
export async function startNode(plane: ControlPlane, name: NodeName): Promise<JudgedNode> {
  if (name === 'embedded') {
    const node = await addEmbeddedNode(plane, name, CONFIG);
    return { address: await addressOf(plane, name), stopAgent: node.kill, stop: node.stop };
  }
  await using undo = new AsyncDisposableStack();
  const runtime = await startContainerd();
  undo.defer(() => runtime.stop());
  const { endpoint, cgroupParent, folder } = runtime;
  const own =
    name === 'nodelet' ? { command: NODELET_KUBELET } : { flags: [`--containerd=${join(folder, 'cri.sock')}`] }; // where cAdvisor asks for the labels of containers
  const agent = await startGoKubelet({ plane, nodeName: name, endpoint, cgroupParent, config: CONFIG, ...own });
  undo.defer(() => agent.stop());
  const standing = undo.move();
  return {
    address: await addressOf(plane, name),
    stopAgent: agent.kill,
    stop: () => standing.disposeAsync(),
  };
}

/**
 * Resolves when two pods of the node are ready: `judged-…` uses CPU up to its limit, has probes and a claim. `stateless-…`
 * has no claim: starts of pods with one are not in the SLI.
 */
export async function startJudgedPods(plane: ControlPlane, nodeName: NodeName): Promise<void> {
  const [name, stateless] = [`judged-${nodeName}`, `stateless-${nodeName}`];
  const path = join(plane.folder, name);
  mkdirSync(path);
  await bindClaim(plane, name, path, nodeName);
  const volumes = [
    { name: 'claimed', persistentVolumeClaim: { claimName: name } },
    { name: 'scratch', emptyDir: {} },
  ];
  const works = { ...container('main', WORK), volumeMounts: [{ name: 'claimed', mountPath: '/claimed' }] };
  const probe = { exec: { command: ['true'] }, periodSeconds: 2, timeoutSeconds: 10 };
  const probed = { ...container('side', 'exec sleep 100000'), livenessProbe: probe, readinessProbe: probe };
  await plane.apply(
    podOn(nodeName, name, { ...POD, volumes, containers: [works, probed] }),
    podOn(nodeName, stateless, { ...POD, containers: [container('main', 'exec sleep 100000')] }),
  );
  for (const pod of [name, stateless]) await plane.wait(pod, 'condition=Ready');
}

const POD = { dnsPolicy: 'Default', terminationGracePeriodSeconds: 0 };
const WORK = 'while :; do i=0; while [ $i -lt 10000 ]; do i=$((i+1)); done; echo round > /claimed/file; done';
const RESOURCES = { requests: { cpu: '10m', memory: '16Mi' }, limits: { cpu: '50m', memory: '64Mi' } };

function container(name: string, line: string): object {
  return { name, image: BUSYBOX_IMAGE, command: ['sh', '-c', line], resources: RESOURCES };
}

async function bindClaim(plane: ControlPlane, name: string, path: string, nodeName: string): Promise<void> {
  const both = { accessModes: ['ReadWriteOnce'], volumeMode: 'Filesystem', storageClassName: '' };
  await plane.apply({
    ...{ apiVersion: 'v1', kind: 'PersistentVolumeClaim', metadata: { name, namespace: 'default' } },
    spec: { ...both, volumeName: name, resources: { requests: CLAIM_SIZE } },
  });
  const uid = await plane.kubectl('get', 'persistentvolumeclaim', name, '-ojsonpath={.metadata.uid}');
  const matchExpressions = [{ key: 'kubernetes.io/hostname', operator: 'In', values: [nodeName] }];
  await plane.apply({
    ...{ apiVersion: 'v1', kind: 'PersistentVolume', metadata: { name } },
    spec: {
      ...both,
      capacity: CLAIM_SIZE,
      local: { path },
      nodeAffinity: { required: { nodeSelectorTerms: [{ matchExpressions }] } },
      claimRef: { apiVersion: 'v1', kind: 'PersistentVolumeClaim', namespace: 'default', name, uid },
    },
  });
  const status = { phase: 'Bound', accessModes: both.accessModes, capacity: CLAIM_SIZE };
  await patchStatus(plane, 'persistentvolumeclaim', name, status);
  await patchStatus(plane, 'persistentvolume', name, { phase: 'Bound' });
}

async function patchStatus(plane: ControlPlane, kind: string, name: string, status: object): Promise<void> {
  await plane.kubectl('patch', kind, name, '--subresource=status', '--type=merge', '-p', JSON.stringify({ status }));
}

async function addressOf(plane: ControlPlane, name: string): Promise<string> {
  const address = '{.status.addresses[?(@.type=="InternalIP")].address}';
  const port = '{.status.daemonEndpoints.kubeletEndpoint.Port}';
  return plane.kubectl('get', 'node', name, `-ojsonpath=${address}:${port}`);
}
