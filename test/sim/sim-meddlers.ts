import type { Node, Pod } from '../../src/api/generated/core-v1.ts';
import { isMirrorPod } from '../../src/api/pod-names.ts';
import { formatMicroTime, formatTime } from '../../src/base/rfc3339.ts';
import type { VirtualClock } from '../../src/host/fake/virtual-clock.ts';
import type { ApiServer, ObjectKey } from '../../src/kubelet/api-client/api-server.ts';
import type { ClusterBook } from './cluster-book.ts';
import type { ClusterPlan, Meddling, NodeMeddling, PodMeddling } from './plan-cluster.ts';
import { unlessGone } from './sim-cluster.ts';
import { NODE_NAME } from './sim-sources.ts';

const FOR_EVER = new AbortController().signal;
const NODE: ObjectKey<'nodes'> = { resource: 'nodes', namespace: '', name: NODE_NAME };
const LEASE: ObjectKey<'leases'> = { resource: 'leases', namespace: 'kube-node-lease', name: NODE_NAME };
const ELSEWHERE = { type: 'InternalIP', address: '192.0.2.99' };
const RIVAL_RENEWS_MS = 10_000;
/** Of a lease; a machine that is gone is believed to live for so long. */
export const LEASE_SECONDS = 40;

export interface MeddlerDeps {
  /** Others reach the server also when the node cannot. */
  readonly api: ApiServer;
  readonly clock: VirtualClock;
  readonly book: ClusterBook;
  /** A pod of the API server, and a static one, by key. */
  readonly podOf: (key: string) => Promise<Pod | undefined>;
  readonly staticOf: (key: string) => Pod | undefined;
}

/** Everybody else who writes to the node and to its pods: controllers, administrators, another machine. */
export class SimMeddlers {
  readonly #deps: MeddlerDeps;

  constructor(deps: MeddlerDeps) {
    this.#deps = deps;
  }

  /** What is there before the first agent. */
  async prepare({ node, rivalUntilMs }: ClusterPlan, machineId: string): Promise<void> {
    const isRivals = rivalUntilMs > 0;
    if (node === 'none' && !isRivals) return;
    const machineID = isRivals ? 'another machine' : node === 'own' ? machineId : '';
    await this.#createNode(machineID === '' ? {} : { nodeInfo: nodeInfoOf(machineID) });
    if (isRivals) await this.#rivalLives(rivalUntilMs);
  }

  async meddle(meddling: Meddling): Promise<void> {
    switch (meddling.on) {
      case 'node':
        return this.#onNode(meddling);
      case 'pod':
        return this.#onPod(meddling);
      case 'mirror':
        return this.#deleteMirror(meddling.key, meddling.graceSeconds);
    }
  }

  async #onNode(meddling: NodeMeddling): Promise<void> {
    const node = await unlessGone(this.#deps.api.get(NODE, FOR_EVER));
    if (!node) return meddling.what === 'create' ? this.#createNode({}) : undefined;
    switch (meddling.what) {
      case 'create':
        return;
      case 'label':
        return this.#patchNode({ metadata: { labels: { 'example.com/label': meddling.value } } });
      case 'annotation':
        return this.#patchNode({ metadata: { annotations: { 'example.com/annotation': meddling.value } } });
      case 'taint':
        return this.#patchNode({
          spec: { taints: [{ key: 'example.com/taint', value: meddling.value, effect: 'NoSchedule' }] },
        });
      case 'cordon':
        return this.#patchNode({ spec: { unschedulable: meddling.value } });
      case 'condition':
        return this.#patchNodeStatus({ conditions: [this.#condition('KernelDeadlock', meddling.value)] });
      case 'doubt':
        return this.#doubt(node);
      case 'spoil':
        await this.#patchNode({ metadata: { labels: { 'kubernetes.io/os': null } } });
        return this.#patchNodeStatus({ capacity: { memory: '1Ki' }, images: [], addresses: [ELSEWHERE] });
      case 'delete':
        return this.#deleteNode(node, meddling.collectedMs);
    }
  }

  async #onPod(meddling: PodMeddling): Promise<void> {
    const pod = await this.#deps.podOf(meddling.key);
    if (!pod) return;
    const place = { resource: 'pods', namespace: pod.metadata.namespace, name: pod.metadata.name } as const;
    const patchStatus = async (conditions: readonly object[]): Promise<void> =>
      void (await this.#deps.api.patch(place, { status: { conditions } }, { subresource: 'status' }, FOR_EVER));
    switch (meddling.what) {
      case 'label': {
        const metadata = { labels: { 'example.com/label': meddling.value } };
        return void (await this.#deps.api.patch(place, { metadata }, {}, FOR_EVER));
      }
      case 'condition':
        return patchStatus([this.#condition('example.com/condition', meddling.value)]);
      case 'doubt': {
        const isReady = pod.status?.conditions?.some(({ type, status }) => type === 'Ready' && status === 'True');
        const lastTransitionTime = formatTime(this.#deps.clock.now());
        return isReady ? patchStatus([{ type: 'Ready', status: 'False', lastTransitionTime }]) : undefined;
      }
    }
  }

  async #deleteMirror(key: string, graceSeconds: number): Promise<void> {
    const pod = this.#deps.staticOf(key);
    if (!pod) return;
    const place = { resource: 'pods', namespace: pod.metadata.namespace, name: pod.metadata.name } as const;
    await unlessGone(this.#deps.api.delete(place, { graceSeconds }, FOR_EVER));
    this.#deps.book.mirrorsMeddledAt = this.#deps.clock.monotonic();
  }

  async #doubt({ status }: Node): Promise<void> {
    const conditions = ['Ready', 'MemoryPressure', 'DiskPressure', 'PIDPressure'].map((type) => {
      const before = status?.conditions?.find((each) => each.type === type);
      const isSame = before?.status === 'Unknown';
      const now = formatTime(this.#deps.clock.now());
      const lastTransitionTime = isSame ? before.lastTransitionTime : now;
      const message = 'Kubelet stopped posting node status.';
      return { type, status: 'Unknown', reason: 'NodeStatusUnknown', message, lastTransitionTime };
    });
    await this.#patchNodeStatus({ conditions });
    this.#deps.book.nodeMeddledAt = this.#deps.clock.monotonic();
  }

  async #createNode(status: Node['status']): Promise<void> {
    const { api, book, clock } = this.#deps;
    const { uid: _none, ...metadata } = { name: NODE_NAME, uid: '' };
    await api.create(NODE, { metadata, spec: {} }, FOR_EVER);
    await this.#patchNodeStatus({ ...status });
    book.nodeMissing = undefined;
    book.nodeMeddledAt = clock.monotonic();
  }

  async #deleteNode(node: Node, collectedMs: number): Promise<void> {
    const { api, book, clock } = this.#deps;
    await api.delete(NODE, {}, FOR_EVER);
    book.nodeMissing = { since: clock.monotonic(), life: book.life };
    clock.schedule(collectedMs, () => void this.#collect(node.metadata.uid ?? ''));
  }

  /** What belonged to a node that is gone goes too. */
  async #collect(uid: string): Promise<void> {
    const { api, book, clock } = this.#deps;
    book.mirrorsMeddledAt = clock.monotonic();
    const isOwned = ({ metadata }: { metadata: Pod['metadata'] | Node['metadata'] }): boolean =>
      metadata.ownerReferences?.some((owner) => owner.uid === uid) ?? false;
    const lease = await unlessGone(api.get(LEASE, FOR_EVER));
    if (lease && isOwned(lease)) await unlessGone(api.delete(LEASE, {}, FOR_EVER));
    const { items } = await api.list({ resource: 'pods' }, FOR_EVER);
    for (const { metadata } of items.filter((pod) => isMirrorPod(pod) && isOwned(pod))) {
      const place = { resource: 'pods', namespace: metadata.namespace, name: metadata.name } as const;
      await unlessGone(api.delete(place, { uid: metadata.uid, graceSeconds: 0 }, FOR_EVER));
    }
  }

  async #rivalLives(untilMs: number): Promise<void> {
    const { api, clock, book } = this.#deps;
    const renew = async (): Promise<void> => {
      const before = await unlessGone(api.get(LEASE, FOR_EVER));
      const { name, namespace } = LEASE;
      const lease = before ?? { metadata: { name, namespace }, spec: { holderIdentity: NODE_NAME } };
      const spec = { ...lease.spec, leaseDurationSeconds: LEASE_SECONDS, renewTime: formatMicroTime(clock.now()) };
      await (before
        ? api.update(LEASE, { ...lease, spec }, FOR_EVER)
        : api.create(LEASE, { ...lease, spec }, FOR_EVER));
      book.rivalUntil = clock.monotonic() + LEASE_SECONDS * 1000;
      if (clock.monotonic() + RIVAL_RENEWS_MS < untilMs) clock.schedule(RIVAL_RENEWS_MS, () => void renew());
    };
    await renew();
  }

  #condition(type: string, value: string): object {
    const lastTransitionTime = formatTime(this.#deps.clock.now());
    return { type, status: 'True', reason: 'Somebody', message: `says ${value}`, lastTransitionTime };
  }

  async #patchNode(patch: object): Promise<void> {
    await this.#deps.api.patch(NODE, patch, {}, FOR_EVER);
    this.#deps.book.nodeMeddledAt = this.#deps.clock.monotonic();
  }

  async #patchNodeStatus(status: object): Promise<void> {
    await this.#deps.api.patch(NODE, { status }, { subresource: 'status' }, FOR_EVER);
    this.#deps.book.nodeMeddledAt = this.#deps.clock.monotonic();
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
