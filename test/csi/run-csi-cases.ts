import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import type { CSINode } from '../../src/api/generated/core-v1.ts';
import { byCodePoint } from '../../src/base/code-point-order.ts';
import { startContainerd } from '../integration/containerd-fixture.ts';
import { startGoKubelet } from '../integration/go-kubelet.ts';
import { startTestCluster } from '../integration/test-cluster.ts';
import { until } from '../integration/until.ts';
import { type ApiObject, type ApiObjects, apiObjects } from './api-objects.ts';
import type { CsiCase } from './csi-cases.ts';
import { type CsiNode, CsiScene, type Recording } from './csi-scene.ts';
import { newDriverFolder } from './driver-folder.ts';

export const NODE = 'n1';

/** A node with an agent, for CSI drivers. */
export interface CsiNodeFixture extends CsiNode {
  stop(): Promise<void>;
}

/** The configuration of both agents. */
const CONFIG = {
  volumeStatsAggPeriod: '-1s', // no NodeGetVolumeStats at other times
  nodeStatusUpdateFrequency: '1s',
  nodeStatusReportFrequency: '1s',
  syncFrequency: '10s',
};

/** `command` is the agent; absent: Kubernetes' own kubelet. */
export async function startCsiNode(command?: readonly string[]): Promise<CsiNodeFixture> {
  await using undo = new AsyncDisposableStack();
  const folder = undo.use(newDriverFolder()).path;
  const { plane, agent, stop } = await startTestCluster(startContainerd, (plane, { endpoint, cgroupParent }) =>
    startGoKubelet({ plane, nodeName: NODE, endpoint, cgroupParent, config: CONFIG, ...(command ? { command } : {}) }),
  );
  undo.defer(stop);
  const api = apiObjects(plane);
  undo.defer(() => api.close());
  const running = undo.move();
  return {
    name: NODE,
    api,
    rootDir: join(agent.folder, 'root'),
    folder,
    stop: () => running.disposeAsync(),
  };
}

/** Runs a case; its pods are gone afterwards. */
export async function runCsiCase(node: CsiNode, name: string, { driver, run }: CsiCase): Promise<Recording> {
  mkdirSync(join(node.folder, name), { recursive: true });
  const scene = await CsiScene.start(node, name, driver);
  try {
    await run(scene);
    return await scene.recording();
  } finally {
    await scene.stop();
  }
}

/** What the cluster shows of a node's drivers. */
export interface RecordedNode {
  readonly csiNode: unknown;
  readonly nodeIds: unknown;
  readonly topologyLabels: unknown;
  /** Those left after all have gone. */
  readonly driversAfterwards: unknown;
}

/** Registers drivers and withdraws them again. */
export async function recordRegistration(node: CsiNode): Promise<RecordedNode> {
  const plans = { plain: {}, limited: { flags: ['--attach-limit=7', '--enable-topology=false'] } };
  await using scenes = new AsyncDisposableStack();
  for (const [name, plan] of Object.entries(plans)) {
    const scene = await CsiScene.start(node, name, plan);
    scenes.defer(() => scene.stop());
  }
  const registered = await until(async () => {
    const found = await csiNodeOf(node.api);
    return found.spec.drivers?.length === Object.keys(plans).length && found;
  });
  const { metadata } = (await node.api.get<ApiObject>('nodes', NODE)) ?? {};
  const { annotations = {}, labels = {} } = metadata ?? {};
  await scenes.disposeAsync();
  const afterwards = await until(async () => {
    const { spec } = await csiNodeOf(node.api);
    return !spec.drivers?.length && spec;
  });
  return {
    csiNode: {
      annotations: registered.metadata.annotations,
      ownerReferences: registered.metadata.ownerReferences?.map((each) => ({ ...each, uid: '<uid>' })),
      drivers: registered.spec.drivers.toSorted((a, b) => byCodePoint(a.name, b.name)),
    },
    nodeIds: JSON.parse(annotations['csi.volume.kubernetes.io/nodeid'] ?? 'null'),
    topologyLabels: Object.fromEntries(Object.entries(labels).filter(([name]) => name.includes('hostpath'))),
    driversAfterwards: afterwards.drivers,
  };
}

async function csiNodeOf(api: ApiObjects): Promise<ApiObject & CSINode> {
  const found = await api.get<ApiObject & CSINode>('csinodes', NODE);
  if (!found) throw new Error(`there is no CSINode ${NODE}`);
  return found;
}
