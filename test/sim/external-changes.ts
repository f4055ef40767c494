import type { Node, Pod } from '../../src/api/generated/core-v1.ts';
import { isMirrorPod } from '../../src/api/pod-names.ts';
import { formatMicroTime, formatTime } from '../../src/base/rfc3339.ts';
import type { VirtualClock } from '../../src/host/fake/virtual-clock.ts';
import type { ApiServer, ObjectKey } from '../../src/kubelet/api-client/api-server.ts';
import type { ClusterState } from './cluster-state.ts';
import type { ClusterPlan, ExternalChange, NodeChange, PodChange } from './plan-cluster.ts';
import { unlessGone } from './sim-cluster.ts';
import { NODE_NAME } from './sim-sources.ts';

const FOREVER = new AbortController().signal;
const NODE: ObjectKey<'nodes'> = { resource: 'nodes', namespace: '', name: NODE_NAME };
const LEASE: ObjectKey<'leases'> = { resource: 'leases', namespace: 'kube-node-lease', name: NODE_NAME };
const ELSEWHERE = { type: 'InternalIP', address: '192.0.2.99' };
const OTHER_MACHINE_RENEWS_MS = 10_000;
/** The duration of a lease: how long a machine counts as alive after its last renewal. */
export const LEASE_SECONDS = 40;

export interface ExternalChangesDeps {
  /** Works also when the node cannot reach the server. */
  readonly api: ApiServer;
  readonly clock: VirtualClock;
  readonly clusterState: ClusterState;
  /** A pod of the API server, and a static pod, by key. */
  readonly podOf: (key: string) => Promise<Pod | undefined>;
  readonly staticOf: (key: string) => Pod | undefined;
}

/** Changes of the node and its pods by other clients: controllers, administrators, another machine. */
export class ExternalChanges {
  readonly #deps: ExternalChangesDeps;

  constructor(deps: ExternalChangesDeps) {
    this.#deps = deps;
  }

  /** Creates the objects that exist before the first agent process. */
  async prepare({ node, otherMachineUntilMs }: ClusterPlan, machineId: string): Promise<void> {
    const hasOtherMachine = otherMachineUntilMs > 0;
    if (node === 'none' && !hasOtherMachine) return;
    const machineID = hasOtherMachine ? 'another machine' : node === 'own' ? machineId : '';
    await this.#createNode(machineID === '' ? {} : { nodeInfo: nodeInfoOf(machineID) });
    if (hasOtherMachine) await this.#runOtherMachine(otherMachineUntilMs);
  }

  async apply(change: ExternalChange): Promise<void> {
    switch (change.on) {
      case 'node':
        return this.#onNode(change);
      case 'pod':
        return this.#onPod(change);
      case 'mirror':
        return this.#deleteMirror(change.key, change.graceSeconds);
    }
  }

  async #onNode(change: NodeChange): Promise<void> {
    const node = await unlessGone(this.#deps.api.get(NODE, FOREVER));
    if (!node) return change.what === 'create' ? this.#createNode({}) : undefined;
    switch (change.what) {
      case 'create':
        return;
      case 'label':
        return this.#patchNode({ metadata: { labels: { 'example.com/label': change.value } } });
      case 'annotation':
        return this.#patchNode({ metadata: { annotations: { 'example.com/annotation': change.value } } });
      case 'taint':
        return this.#patchNode({
          spec: { taints: [{ key: 'example.com/taint', value: change.value, effect: 'NoSchedule' }] },
        });
      case 'cordon':
        return this.#patchNode({ spec: { unschedulable: change.value } });
      case 'condition':
        return this.#patchNodeStatus({ conditions: [this.#condition('KernelDeadlock', change.value)] });
      case 'markUnreachable':
        return this.#markUnreachable(node);
      case 'overwrite':
        await this.#patchNode({ metadata: { labels: { 'kubernetes.io/os': null } } });
        return this.#patchNodeStatus({ capacity: { memory: '1Ki' }, images: [], addresses: [ELSEWHERE] });
      case 'delete':
        return this.#deleteNode(node, change.collectedMs);
    }
  }

  async #onPod(change: PodChange): Promise<void> {
    const pod = await this.#deps.podOf(change.key);
    if (!pod) return;
    const podKey = { resource: 'pods', namespace: pod.metadata.namespace, name: pod.metadata.name } as const;
    const patchStatus = async (conditions: readonly object[]): Promise<void> =>
      void (await this.#deps.api.patch(podKey, { status: { conditions } }, { subresource: 'status' }, FOREVER));
    switch (change.what) {
      case 'label': {
        const metadata = { labels: { 'example.com/label': change.value } };
        return void (await this.#deps.api.patch(podKey, { metadata }, {}, FOREVER));
      }
      case 'condition':
        return patchStatus([this.#condition('example.com/condition', change.value)]);
      case 'markUnreachable': {
        const isReady = pod.status?.conditions?.some(({ type, status }) => type === 'Ready' && status === 'True');
        const lastTransitionTime = formatTime(this.#deps.clock.now());
        return isReady ? patchStatus([{ type: 'Ready', status: 'False', lastTransitionTime }]) : undefined;
      }
    }
  }

  async #deleteMirror(key: string, graceSeconds: number): Promise<void> {
    const pod = this.#deps.staticOf(key);
    if (!pod) return;
    const podKey = { resource: 'pods', namespace: pod.metadata.namespace, name: pod.metadata.name } as const;
    await unlessGone(this.#deps.api.delete(podKey, { graceSeconds }, FOREVER));
    this.#deps.clusterState.mirrorsChangedAt = this.#deps.clock.monotonic();
  }

  async #markUnreachable({ status }: Node): Promise<void> {
    const conditions = ['Ready', 'MemoryPressure', 'DiskPressure', 'PIDPressure'].map((type) => {
      const before = status?.conditions?.find((each) => each.type === type);
      const isSame = before?.status === 'Unknown';
      const now = formatTime(this.#deps.clock.now());
      const lastTransitionTime = isSame ? before.lastTransitionTime : now;
      const message = 'Kubelet stopped posting node status.';
      return { type, status: 'Unknown', reason: 'NodeStatusUnknown', message, lastTransitionTime };
    });
    await this.#patchNodeStatus({ conditions });
    this.#deps.clusterState.nodeChangedAt = this.#deps.clock.monotonic();
  }

  async #createNode(status: Node['status']): Promise<void> {
    const { api, clusterState, clock } = this.#deps;
    const { uid: _none, ...metadata } = { name: NODE_NAME, uid: '' };
    await api.create(NODE, { metadata, spec: {} }, FOREVER);
    await this.#patchNodeStatus({ ...status });
    clusterState.nodeMissing = undefined;
    clusterState.nodeChangedAt = clock.monotonic();
  }

  async #deleteNode(node: Node, collectedMs: number): Promise<void> {
    const { api, clusterState, clock } = this.#deps;
    await api.delete(NODE, {}, FOREVER);
    clusterState.nodeMissing = { since: clock.monotonic(), processNumber: clusterState.processNumber };
    clock.schedule(collectedMs, () => void this.#collect(node.metadata.uid ?? ''));
  }

  /** Garbage-collects the dependents of a deleted node. */
  async #collect(uid: string): Promise<void> {
    const { api, clusterState, clock } = this.#deps;
    clusterState.mirrorsChangedAt = clock.monotonic();
    const isOwned = ({ metadata }: { metadata: Pod['metadata'] | Node['metadata'] }): boolean =>
      metadata.ownerReferences?.some((owner) => owner.uid === uid) ?? false;
    const lease = await unlessGone(api.get(LEASE, FOREVER));
    if (lease && isOwned(lease)) await unlessGone(api.delete(LEASE, {}, FOREVER));
    const { items } = await api.list({ resource: 'pods' }, FOREVER);
    for (const { metadata } of items.filter((pod) => isMirrorPod(pod) && isOwned(pod))) {
      const podKey = { resource: 'pods', namespace: metadata.namespace, name: metadata.name } as const;
      await unlessGone(api.delete(podKey, { uid: metadata.uid, graceSeconds: 0 }, FOREVER));
    }
  }

  async #runOtherMachine(untilMs: number): Promise<void> {
    const { api, clock, clusterState } = this.#deps;
    const renew = async (): Promise<void> => {
      const before = await unlessGone(api.get(LEASE, FOREVER));
      const { name, namespace } = LEASE;
      const lease = before ?? { metadata: { name, namespace }, spec: { holderIdentity: NODE_NAME } };
      const spec = { ...lease.spec, leaseDurationSeconds: LEASE_SECONDS, renewTime: formatMicroTime(clock.now()) };
      await (before ? api.update(LEASE, { ...lease, spec }, FOREVER) : api.create(LEASE, { ...lease, spec }, FOREVER));
      clusterState.otherMachineUntil = clock.monotonic() + LEASE_SECONDS * 1000;
      if (clock.monotonic() + OTHER_MACHINE_RENEWS_MS < untilMs)
        clock.schedule(OTHER_MACHINE_RENEWS_MS, () => void renew());
    };
    await renew();
  }

  #condition(type: string, value: string): object {
    const lastTransitionTime = formatTime(this.#deps.clock.now());
    return { type, status: 'True', reason: 'ExternalClient', message: `value ${value}`, lastTransitionTime };
  }

  async #patchNode(patch: object): Promise<void> {
    await this.#deps.api.patch(NODE, patch, {}, FOREVER);
    this.#deps.clusterState.nodeChangedAt = this.#deps.clock.monotonic();
  }

  async #patchNodeStatus(status: object): Promise<void> {
    await this.#deps.api.patch(NODE, { status }, { subresource: 'status' }, FOREVER);
    this.#deps.clusterState.nodeChangedAt = this.#deps.clock.monotonic();
  }
}

function nodeInfoOf(machineID: string): NonNullable<NonNullable<Node['status']>['nodeInfo']> {
  return {
    machineID,
    systemUUID: machineID,
    bootID: machineID,
    kernelVersion: '',
    osImage: '',
    containerRuntimeVersion: '',
    kubeletVersion: '',
    kubeProxyVersion: '',
    operatingSystem: 'linux',
    architecture: 'amd64',
  };
}
