import { isDeepStrictEqual } from 'node:util';
import type { NodeCondition } from '../../src/api/generated/core-v1.ts';
import { byCodePoint } from '../../src/base/code-point-order.ts';
import { parseTime } from '../../src/base/rfc3339.ts';
import { NODE_SETTINGS } from './agent-process.ts';
import type { CheckContext } from './check-context.ts';
import type { MachineState } from './cluster-state.ts';
import { BOOT_ID, MACHINE_ID } from './sim-machine.ts';
import type { World } from './world.ts';

const { leaseSeconds, statusUpdateMs, statusReportMs, pressureTransitionMs } = NODE_SETTINGS;
/** The latency of a few API calls. */
const CALLS_MS = 1_500;
/** A lease is renewed four times in its duration, with a jitter of up to 4 %. */
const RENEW_MS = 1.04 * (leaseSeconds / 4) * 1000 + CALLS_MS;
const STATUS_MS = 1.04 * statusUpdateMs + CALLS_MS;
/** With a jitter of up to half a period. */
const REPORT_MS = 1.5 * statusReportMs + STATUS_MS;

const EVICTION_MS = 120_000;

/** After an outage a watch may resume this late; until then changes by other clients are unknown. */
const WATCH_MS = 62_000;

/** While the API server answers, the lease is renewed and the node status matches the machine. */
export async function checkNode(world: World): Promise<void> {
  const { context, agentProcess } = world;
  const { clusterState, now, fail } = context;
  if (!agentProcess || clusterState.firstRenewedAt === undefined) return;
  if (clusterState.nodeMissing) {
    clusterState.nodeChangedAt = now();
    return;
  }
  const quiet = Math.max(clusterState.apiFaultUntil, clusterState.nodeChangedAt);
  const renewed = Math.max(quiet, clusterState.leaseRenewedAt ?? 0);
  if (now() - renewed > RENEW_MS) fail(24, `the lease was not renewed for ${now() - renewed} ms`);
  const calm = Math.max(quiet, clusterState.machineFaultUntil);
  const reported = Math.max(calm, clusterState.nodeWrittenAt ?? 0);
  if (now() - reported > REPORT_MS) fail(24, `the status of the node was not written for ${now() - reported} ms`);
  const hasWatched = (clusterState.nodeWrittenAt ?? 0) > clusterState.nodeChangedAt;
  const noticeMs = hasWatched ? STATUS_MS : STATUS_MS + WATCH_MS;
  if (now() - Math.max(calm, clusterState.firstRenewedAt) > noticeMs) await checkShownState(world);
}

/** How long the runtime is in a state before the node must show it. */
const NOTICE_MS: Readonly<Record<MachineState['runtime'], number>> = {
  ready: 1_000 + CALLS_MS,
  withoutNetwork: 5_000 + CALLS_MS,
  silent: 30_000 + 5_000 + CALLS_MS,
};

async function checkShownState({ cluster, context }: World): Promise<void> {
  const { clusterState, machine, now, fail } = context;
  const { runtime, runtimeSince, isDiskShort, diskSince } = clusterState.machine;
  const conditions = (await cluster.node())?.status?.conditions ?? [];
  const shows = (type: string): string | undefined => conditions.find((each) => each.type === type)?.status;
  const { lastShutdownAt = Number.NEGATIVE_INFINITY, shutdown } = machine?.power ?? {};
  const isReady = runtime === 'ready' && !shutdown?.isDelayed ? 'True' : 'False';
  const changedAt = Math.max(runtimeSince, shutdown?.at ?? lastShutdownAt);
  if (now() - changedAt > NOTICE_MS[runtime] && shows('Ready') !== isReady) {
    fail(26, `the runtime is ${runtime} since ${runtimeSince}, but the node shows Ready=${shows('Ready')}`);
  }
  const isShort = isDiskShort ? 'True' : 'False';
  // While a pod is evicted, its kill may delay the next reading.
  const isEvicting = now() - clusterState.lastMemoryShortAt < EVICTION_MS;
  const noticeMs = STATUS_MS + (isDiskShort ? 0 : pressureTransitionMs) + (isEvicting ? EVICTION_MS : 0);
  if (now() - diskSince > noticeMs && shows('DiskPressure') !== isShort) {
    fail(26, `DiskPressure is ${isShort} since ${diskSince}, but the node shows ${shows('DiskPressure')}`);
  }
}

const WELL: readonly (readonly [type: string, status: string, reason: string])[] = [
  ['MemoryPressure', 'False', 'KubeletHasSufficientMemory'],
  ['DiskPressure', 'False', 'KubeletHasNoDiskPressure'],
  ['PIDPressure', 'False', 'KubeletHasSufficientPID'],
  ['Ready', 'True', 'KubeletReady'],
];

/** Long after the last fault: the node object describes this machine and is ready. */
export async function checkNodeAtRest(world: World): Promise<void> {
  const { context, cluster } = world;
  const { clusterState, now, fail } = context;
  if (context.sources === 1) return;
  const node = await cluster.node();
  const isToBeMissing = clusterState.nodeMissing?.processNumber === clusterState.processNumber;
  if ((node === undefined) !== isToBeMissing) fail(26, `there is ${node ? 'a' : 'no'} node at the API server`);
  if (!node) return;
  const { isDiskShort, diskSince } = clusterState.machine;
  const hasDisk = !isDiskShort && now() - diskSince > pressureTransitionMs + STATUS_MS;
  for (const [type, status, reason] of WELL) {
    if (type === 'DiskPressure' && !hasDisk) continue;
    const shown: Partial<NodeCondition> = node.status?.conditions?.find((each) => each.type === type) ?? {};
    if (shown.status !== status || shown.reason !== reason) {
      fail(26, `${type} of the node is ${shown.status} (${shown.reason})`);
    }
  }
  const { nodeInfo, capacity, addresses, images = [] } = node.status ?? {};
  const reported = {
    machine: nodeInfo?.machineID,
    boot: nodeInfo?.bootID,
    os: node.metadata.labels?.['kubernetes.io/os'],
    arch: node.metadata.labels?.['kubernetes.io/arch'],
    memory: capacity?.['memory'],
    pods: capacity?.['pods'],
    addresses: addresses?.map(({ type, address }) => `${type} ${address}`).join(),
    images: images.flatMap(({ names = [] }) => names).sort(byCodePoint),
  };
  const known = await world.images.stable();
  const expected = {
    machine: MACHINE_ID,
    boot: context.machine?.power.bootId ?? BOOT_ID,
    os: 'linux',
    arch: 'amd64',
    memory: '16Gi',
    pods: '110',
    addresses: 'InternalIP 192.0.2.1,Hostname box',
    images: known ?? reported.images,
  };
  for (const [name, value] of Object.entries(expected)) {
    const shown = new Map<string, unknown>(Object.entries(reported)).get(name);
    if (!isDeepStrictEqual(shown, value)) fail(26, `${name} of the node is ${value}, but is shown as ${shown}`);
  }
  await checkLeaseAtRest(world, node.metadata.uid);
}

async function checkLeaseAtRest({ cluster, context }: World, nodeUid: string | undefined): Promise<void> {
  const lease = await cluster.lease();
  const owner = lease?.metadata.ownerReferences?.[0]?.uid;
  const ageMs = context.wallMs() - parseTime(lease?.spec.renewTime ?? '1970-01-01T00:00:00.000000Z');
  const what = `of ${owner}, held by ${lease?.spec.holderIdentity}, ${ageMs} ms old`;
  const passesProbe = lease?.spec.holderIdentity === NODE_SETTINGS.nodeName && ageMs <= RENEW_MS && ageMs >= 0;
  if (!passesProbe) context.fail(24, `the lease is ${what}`);
  // The lease of the other machine had no owner; the agent adopts it.
  if (owner !== nodeUid) context.fail(24, `the lease is ${what}, and not of ${nodeUid}`);
}

/** The images of the runtime, once they have not changed for a while. */
export class StableImages {
  readonly #list: () => Promise<readonly string[]>;
  readonly #now: CheckContext['now'];
  #seen = '';
  #since = 0;

  constructor(list: () => Promise<readonly string[]>, now: CheckContext['now']) {
    this.#list = list;
    this.#now = now;
  }

  async refresh(): Promise<readonly string[]> {
    const names = [...(await this.#list())].sort(byCodePoint);
    if (names.join() !== this.#seen) this.#since = this.#now();
    this.#seen = names.join();
    return names;
  }

  /** Undefined when the list changed within the last minute: the agent may have read it before. */
  async stable(): Promise<readonly string[] | undefined> {
    const names = await this.refresh();
    return this.#now() - this.#since > 60_000 ? names : undefined;
  }
}
