import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { type NodeletNode, startNodeletNode } from '../integration/nodelet-node.ts';
import { becomes } from '../integration/until.ts';
import { apiObjects } from './api-objects.ts';
import { volumesInPlace } from './csi-calls.ts';
import { type CsiNode, CsiScene } from './csi-scene.ts';
import { loopDevicesOf, newDriverFolder } from './driver-folder.ts';
import { mountPoints } from './node-tree.ts';

export interface CyclePlan {
  /** Pods that are started and deleted. */
  readonly cycles: number;
  /** Pods at a time. */
  readonly lanes: number;
  readonly seed: number;
  /** The longest time from a start of the agent to its next kill; absent: 4 s. */
  readonly longestLifeMs?: number;
  readonly report?: (line: string) => void;
  /** Instead of `nodelet kubelet`. */
  readonly startNode?: (name: string) => Promise<KillableNode>;
}

/** An agent that can be killed and started again. */
export type KillableNode = Pick<NodeletNode, 'plane' | 'flags' | 'restart' | 'stop'>;

export interface CycleResult {
  readonly cycles: number;
  readonly kills: number;
}

/** Without the pod's information the driver takes an inline volume for one that it should know. */
const DRIVER = { podInfoOnMount: true, volumeLifecycleModes: ['Persistent', 'Ephemeral'] };
/** The longest life of an agent; a pod must be able to make some progress in it. */
const LONGEST_LIFE_MS = 4_000;

/**
 * Starts and deletes pods with volumes of a CSI driver while the agent is killed at random moments. Rejects when anything of
 * the volumes is left at the end.
 */
export async function runCsiCycles(plan: CyclePlan): Promise<CycleResult> {
  const { cycles, lanes, seed, report = () => {}, startNode = startNodeletNode } = plan;
  const { longestLifeMs = LONGEST_LIFE_MS } = plan;
  await using undo = new AsyncDisposableStack();
  const folder = undo.use(newDriverFolder()).path;
  const agent = await startNode('n1');
  undo.defer(() => agent.stop());
  const api = apiObjects(agent.plane);
  undo.defer(() => api.close());
  const node: CsiNode = { name: 'n1', api, rootDir: rootDirOf(agent), folder };
  const scene = await CsiScene.start(node, 'cycles', { spec: DRIVER, repeatsUnpublish: true });
  undo.defer(() => scene.stop());

  await scene.claim('shared');
  await scene.claim('disk', { block: true });
  for (let lane = 0; lane < lanes; lane++) await scene.claim(`own-${lane}`);
  let begun = 0;
  const runLane = async (lane: number): Promise<void> => {
    for (let cycle = begun++; cycle < cycles; cycle = begun++) {
      const pod = `pod-${cycle}`;
      await scene.start(pod, podOf(scene, lane));
      await scene.remove(pod);
      report(`cycle ${cycle}`);
    }
  };
  const random = randomOf(seed);
  const over = new AbortController();
  const killing = killAgain(agent, () => random() * longestLifeMs, over.signal);
  await Promise.all(Array.from({ length: lanes }, (_, lane) => runLane(lane))).finally(() => over.abort());
  const kills = await killing;
  await becomes(() => leftovers(node, scene), []);
  return { cycles, kills };
}

/** Every kind of volume at once; the first lane has the block device. */
function podOf(scene: CsiScene, lane: number): Parameters<CsiScene['start']>[1] {
  const inline = { name: 'inline', csi: { driver: scene.driverName } };
  const [own, shared, disk] = [`own-${lane}`, 'shared', 'disk'];
  const volumes = [own, shared, ...(lane === 0 ? [disk] : [])].map((name) => scene.volumeOf(name));
  const volumeMounts = [
    { name: own, mountPath: '/own' },
    { name: own, mountPath: '/sub', subPath: 'a/b' },
    { name: shared, mountPath: '/shared' },
    { name: 'inline', mountPath: '/inline' },
  ];
  const volumeDevices = lane === 0 ? [{ name: disk, devicePath: '/dev/disk' }] : [];
  return { spec: { volumes: [...volumes, inline] }, container: { volumeMounts, volumeDevices } };
}

/** Kills the agent with SIGKILL and starts it again, until the signal. Returns how often. */
async function killAgain(agent: KillableNode, lifeMs: () => number, signal: AbortSignal): Promise<number> {
  let kills = 0;
  while (!signal.aborted) {
    await delay(lifeMs(), undefined, { signal }).catch(() => {});
    if (signal.aborted) break;
    await agent.restart();
    kills++;
  }
  return kills;
}

/** What is left of volumes after all pods have gone. */
function leftovers({ rootDir }: CsiNode, scene: CsiScene): readonly string[] {
  const csi = join(rootDir, 'plugins/kubernetes.io/csi');
  const namesIn = (...path: string[]): readonly string[] => {
    const full = join(csi, ...path);
    return existsSync(full) ? readdirSync(full).map((name) => join(full, name)) : [];
  };
  const blockFolders = ['staging', 'publish'].map((name) => join(csi, 'volumeDevices', name));
  const pods = join(rootDir, 'pods');
  return [
    ...[...mountPoints()].filter((path) => path.startsWith(`${rootDir}/`)).map((path) => `mount point ${path}`),
    ...(existsSync(pods) ? readdirSync(pods) : []).map((uid) => `pod directory ${uid}`),
    ...namesIn(scene.driverName),
    ...namesIn('volumeDevices').filter((path) => !blockFolders.includes(path)),
    ...namesIn('volumeDevices/staging'),
    ...namesIn('volumeDevices/publish'),
    ...volumesInPlace(scene.calls),
    ...loopDevicesOf(rootDir),
  ];
}

function rootDirOf({ flags }: KillableNode): string {
  const flag = flags.find((each) => each.startsWith('--root-dir='));
  if (flag === undefined) throw new Error('the agent has no root directory');
  return flag.slice('--root-dir='.length);
}

/** The same numbers for the same seed (Lehmer). */
function randomOf(seed: number): () => number {
  let state = seed % 2147483647 || 1;
  return () => {
    state = (state * 48271) % 2147483647;
    return state / 2147483647;
  };
}
