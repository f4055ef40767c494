import { isDeepStrictEqual } from 'node:util';
import type { NodeCondition } from '../../src/api/generated/core-v1.ts';
import { byCodePoint } from '../../src/base/code-point-order.ts';
import { parseTime } from '../../src/base/rfc3339.ts';
import { NODE_SETTINGS } from './agent-life.ts';
import type { MachineState } from './cluster-book.ts';
import type { Scene } from './scene.ts';
import { BOOT_ID, MACHINE_ID } from './sim-machine.ts';
import type { World } from './world.ts';

const { leaseSeconds, statusUpdateMs, statusReportMs, pressureTransitionMs } = NODE_SETTINGS;
/** What a few calls to a server that answers may take. */
const CALLS_MS = 1_500;
/** A lease is renewed four times in its life, up to 4 % later by chance. */
const RENEW_MS = 1.04 * (leaseSeconds / 4) * 1000 + CALLS_MS;
const LOOK_MS = 1.04 * statusUpdateMs + CALLS_MS;
/** Up to half a period later by chance. */
const REPORT_MS = 1.5 * statusReportMs + LOOK_MS;

/** After an outage a watch may begin anew as late as this, and until then nothing is known of what others did. */
const HEAR_MS = 62_000;

/** At every moment at which the API server answers: the lease is fresh, and the node shows how the machine is. */
export async function checkNode(world: World): Promise<void> {
  const { scene, life } = world;
  const { book, now, fail } = scene;
  if (!life || book.firstRenewedAt === undefined) return;
  if (book.nodeMissing) {
    book.nodeMeddledAt = now();
    return;
  }
  const quiet = Math.max(book.troubleUntil, book.nodeMeddledAt);
  const renewed = Math.max(quiet, book.leaseRenewedAt ?? 0);
  if (now() - renewed > RENEW_MS) fail(24, `the lease was not renewed for ${now() - renewed} ms`);
  const calm = Math.max(quiet, book.machineTroubleUntil);
  const reported = Math.max(calm, book.nodeWrittenAt ?? 0);
  if (now() - reported > REPORT_MS) fail(24, `the status of the node was not written for ${now() - reported} ms`);
  const hasHeard = (book.nodeWrittenAt ?? 0) > book.nodeMeddledAt;
  const noticeMs = hasHeard ? LOOK_MS : LOOK_MS + HEAR_MS;
  if (now() - Math.max(calm, book.firstRenewedAt) > noticeMs) await checkShownState(world);
}

/** How long the runtime has to be in a state before the node must show it. */
const NOTICE_MS: Readonly<Record<MachineState['runtime'], number>> = {
  ready: 1_000 + CALLS_MS,
  withoutNetwork: 5_000 + CALLS_MS,
  silent: 30_000 + 5_000 + CALLS_MS,
};

async function checkShownState({ cluster, scene }: World): Promise<void> {
  const { book, now, fail } = scene;
  const { runtime, runtimeSince, isDiskShort, diskSince } = book.machine;
  const conditions = (await cluster.node())?.status?.conditions ?? [];
  const shows = (type: string): string | undefined => conditions.find((each) => each.type === type)?.status;
  const isReady = runtime === 'ready' ? 'True' : 'False';
  if (now() - runtimeSince > NOTICE_MS[runtime] && shows('Ready') !== isReady) {
    fail(26, `the runtime is ${runtime} since ${runtimeSince}, and the node shows Ready=${shows('Ready')}`);
  }
  const isShort = isDiskShort ? 'True' : 'False';
  const noticeMs = LOOK_MS + (isDiskShort ? 0 : pressureTransitionMs);
  if (now() - diskSince > noticeMs && shows('DiskPressure') !== isShort) {
    fail(26, `DiskPressure is ${isShort} since ${diskSince}, and the node shows ${shows('DiskPressure')}`);
  }
}

const WELL: readonly (readonly [type: string, status: string, reason: string])[] = [
  ['MemoryPressure', 'False', 'KubeletHasSufficientMemory'],
  ['DiskPressure', 'False', 'KubeletHasNoDiskPressure'],
  ['PIDPressure', 'False', 'KubeletHasSufficientPID'],
  ['Ready', 'True', 'KubeletReady'],
];

/** Long after the last fault: the node at the API server is this machine, and is well. */
export async function checkNodeAtRest(world: World): Promise<void> {
  const { scene, cluster } = world;
  const { book, now, fail } = scene;
  if (scene.sources === 1) return;
  const node = await cluster.node();
  const isToBeMissing = book.nodeMissing?.life === book.life;
  if ((node === undefined) !== isToBeMissing) fail(26, `there is ${node ? 'a' : 'no'} node at the API server`);
  if (!node) return;
  const { isDiskShort, diskSince } = book.machine;
  const hasDisk = !isDiskShort && now() - diskSince > pressureTransitionMs + LOOK_MS;
  for (const [type, status, reason] of WELL) {
    if (type === 'DiskPressure' && !hasDisk) continue;
    const shown: Partial<NodeCondition> = node.status?.conditions?.find((each) => each.type === type) ?? {};
    if (shown.status !== status || shown.reason !== reason) {
      fail(26, `${type} of the node is ${shown.status} (${shown.reason})`);
    }
  }
  const { nodeInfo, capacity, addresses, images = [] } = node.status ?? {};
  const said = {
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
  const so = {
    machine: MACHINE_ID,
    boot: BOOT_ID,
    os: 'linux',
    arch: 'amd64',
    memory: '16Gi',
    pods: '110',
    addresses: 'InternalIP 192.0.2.1,Hostname box',
    images: known ?? said.images,
  };
  for (const [name, value] of Object.entries(so)) {
    const shown = new Map<string, unknown>(Object.entries(said)).get(name);
    if (!isDeepStrictEqual(shown, value)) fail(26, `${name} of the node is ${value}, and is shown as ${shown}`);
  }
  await checkLeaseAtRest(world, node.metadata.uid);
}

async function checkLeaseAtRest({ cluster, scene }: World, nodeUid: string | undefined): Promise<void> {
  const lease = await cluster.lease();
  const owner = lease?.metadata.ownerReferences?.[0]?.uid;
  const ageMs = scene.wallMs() - parseTime(lease?.spec.renewTime ?? '1970-01-01T00:00:00.000000Z');
  const what = `of ${owner}, held by ${lease?.spec.holderIdentity}, ${ageMs} ms old`;
  const isWell = lease?.spec.holderIdentity === NODE_SETTINGS.nodeName && ageMs <= RENEW_MS && ageMs >= 0;
  if (!isWell) scene.fail(24, `the lease is ${what}`);
  // That of a rival was nobody's, and then becomes ours.
  if (owner !== nodeUid) scene.fail(24, `the lease is ${what}, and not of ${nodeUid}`);
}

/** What the runtime has, when that has not changed for a while. */
export class SteadyImages {
  readonly #list: () => Promise<readonly string[]>;
  readonly #now: Scene['now'];
  #seen = '';
  #since = 0;

  constructor(list: () => Promise<readonly string[]>, now: Scene['now']) {
    this.#list = list;
    this.#now = now;
  }

  async look(): Promise<readonly string[]> {
    const names = [...(await this.#list())].sort(byCodePoint);
    if (names.join() !== this.#seen) this.#since = this.#now();
    this.#seen = names.join();
    return names;
  }

  /** Nothing when it was another a minute ago: the agent may have looked before. */
  async stable(): Promise<readonly string[] | undefined> {
    const names = await this.look();
    return this.#now() - this.#since > 60_000 ? names : undefined;
  }
}
