/**
 * Start and end of pods with a claim of a CSI driver (the hostpath example driver) on kubelet and on Nodelet, both with Debian's
 * containerd, in turns: from POST to Ready, and from DELETE until the pod and its directory are gone. Both are seen by polling
 * every 20 ms.
 *
 *   scripts/node --import ./test/setup.ts test/bench/csi-pods.ts [--pods 10] [--rounds 2]
 */
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { type CsiNode, CsiScene } from '../csi/csi-scene.ts';
import { startCsiNode } from '../csi/run-csi-cases.ts';
import { NODELET_KUBELET } from '../integration/nodelet-node.ts';

const { values } = parseArgs({
  options: { pods: { type: 'string', default: '10' }, rounds: { type: 'string', default: '2' } },
});

interface Times {
  readonly start: number[];
  readonly end: number[];
}

const sides = { kubelet: undefined, Nodelet: NODELET_KUBELET } as const;

/** The first pod of each node is not counted. */
async function measure(node: CsiNode, times: Times): Promise<void> {
  mkdirSync(join(node.folder, 'bench'), { recursive: true });
  const scene = await CsiScene.start(node, 'bench', { repeatsUnpublish: true });
  try {
    await scene.claim('data');
    const plan = {
      spec: { volumes: [scene.volumeOf('data')] },
      container: { volumeMounts: [{ name: 'data', mountPath: '/data' }] },
    };
    for (let index = 0; index <= Number(values.pods); index++) {
      const name = `p${index}`;
      const started = await timed(() => scene.start(name, plan));
      const ended = await timed(() => scene.remove(name));
      if (index === 0) continue;
      times.start.push(started);
      times.end.push(ended);
    }
  } finally {
    await scene.stop();
  }
}

async function timed(work: () => Promise<void>): Promise<number> {
  const began = performance.now();
  await work();
  return performance.now() - began;
}

function median(all: readonly number[]): number {
  return all.toSorted((a, b) => a - b)[Math.floor(all.length / 2)] ?? Number.NaN;
}

const results = new Map(Object.keys(sides).map((name) => [name, { start: [], end: [] } as Times]));
for (let round = 0; round < Number(values.rounds); round++) {
  for (const [name, command] of Object.entries(sides)) {
    const node = await startCsiNode(command);
    try {
      await measure(node, results.get(name) ?? { start: [], end: [] });
    } finally {
      await node.stop();
    }
  }
}
console.log('median, ms      POST to Ready   DELETE to gone');
for (const [name, { start, end }] of results) {
  console.log(`${name.padEnd(14)}${median(start).toFixed(0).padStart(12)}${median(end).toFixed(0).padStart(16)}`);
}
