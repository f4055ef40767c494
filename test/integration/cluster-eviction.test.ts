/** Pods that use up memory, processes or the disk of a real node, and the pod that is evicted for it. */
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdirSync, readFileSync } from 'node:fs';
import { totalmem } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { BUSYBOX_IMAGE } from '../../src/app/images/local-images.ts';
import { podOn } from './cluster-fixture.ts';
import { type NodeletNode, nodeletNodeSkipReason, startNodeletNode } from './nodelet-node.ts';

const NODE = 'node-1';
const GIB = 2 ** 30;
const skip = nodeletNodeSkipReason();
const timeout = 240_000;
/** More processes than the rest of the machine starts meanwhile. */
const SPARE_PROCESSES = 700;

let node: NodeletNode;
let disk = '';

before(
  async () => {
    if (skip !== false) return;
    node = await startNodeletNode(NODE, async (plane) => {
      disk = join(plane.folder, NODE, 'root');
      mkdirSync(disk, { recursive: true });
      execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=64m,nr_inodes=4k,mode=755', 'tmpfs', disk]);
      return { config: configuration() };
    });
    const metadata = { name: 'low' };
    await node.plane.apply({ apiVersion: 'scheduling.k8s.io/v1', kind: 'PriorityClass', metadata, value: -100 });
  },
  { timeout },
);

after(async () => {
  await node?.plane.remove('--all', '--force').catch(() => {});
  await node?.stop();
});

/**
 * The pods have one GiB of memory, of which half is to be left. What other programs of the machine use does not matter:
 * the same threshold is far away for the machine as a whole.
 */
function configuration(): object {
  return {
    kubeReserved: { memory: String(totalmem() - GIB) },
    enforceNodeAllocatable: ['pods'],
    evictionHard: {
      'memory.available': '512Mi',
      'pid.available': String(freeProcesses() - SPARE_PROCESSES),
      'nodefs.available': '16Mi',
      'nodefs.inodesFree': '1k',
      'imagefs.available': '1Mi',
    },
    evictionPressureTransitionPeriod: '1s',
    volumeStatsAggPeriod: '1s',
    nodeStatusUpdateFrequency: '1s',
  };
}

function freeProcesses(): number {
  const read = (path: string): number => Number(readFileSync(path, 'utf8'));
  const threads = /\/(\d+) /.exec(readFileSync('/proc/loadavg', 'utf8'))?.[1] ?? 0;
  return Math.min(read('/proc/sys/kernel/pid_max'), read('/proc/sys/kernel/threads-max')) - Number(threads);
}

interface PodChange {
  readonly pod?: object;
  readonly container?: object;
}

function shellPod(name: string, script: string, { pod, container }: PodChange = {}): object {
  const command = ['sh', '-c', `trap exit TERM; ${script} sleep 1000 & wait`];
  const volumeMounts = [{ name: 'data', mountPath: '/data' }];
  const containers = [{ name: 'main', image: BUSYBOX_IMAGE, command, volumeMounts, ...container }];
  const volumes = [{ name: 'data', emptyDir: {} }];
  return podOn(NODE, name, { terminationGracePeriodSeconds: 1, containers, volumes, ...pod });
}

/** A pod that stays although its priority is lower: it keeps to its requests. */
const MODEST: PodChange = {
  pod: { priorityClassName: 'low' },
  container: { resources: { requests: { memory: '64Mi', 'ephemeral-storage': '4Mi' } } },
};

/** Runs a pod that needs little beside one that needs a lot, and expects the latter to be evicted. */
async function expectEviction(name: string, script: string, calmChange: PodChange, message: RegExp): Promise<void> {
  const { plane } = node;
  const calm = `${name}-calm`;
  await plane.apply(shellPod(calm, '', calmChange));
  await plane.wait(calm, 'condition=Ready');
  await plane.apply(shellPod(name, script));
  await plane.wait(name, 'jsonpath={.status.reason}=Evicted');
  assert.equal(await plane.field(name, '.status.phase'), 'Failed');
  assert.match(await plane.field(name, '.status.message'), message);
  const condition = '.status.conditions[?(@.type=="DisruptionTarget")].reason';
  assert.equal(await plane.field(name, condition), 'TerminationByKubelet');
  const events = await plane.kubectl('get', 'events', `--field-selector=reason=Evicted,involvedObject.name=${name}`);
  assert.match(events, /Evicted/);
  assert.equal(await plane.field(calm, '.status.phase'), 'Running');
  await plane.remove(name, calm);
  for (const type of ['MemoryPressure', 'PIDPressure', 'DiskPressure']) {
    await plane.wait(`node/${NODE}`, `condition=${type}=False`);
  }
}

test('memory: the pod over its request is evicted', { skip, timeout }, async () => {
  const script = 'head -c 700000000 /dev/zero | tail -c 650000000 | sleep 1000 &';
  await expectEviction(
    'memory',
    script,
    MODEST,
    /^The node was low on resource: memory\. Threshold quantity: 512Mi, available: \S+\. Container main was using \S+, request is 0, has larger consumption of memory\. $/,
  );
});

test('processes: the pod that has most is evicted', { skip, timeout }, async () => {
  const script = 'i=0; while [ $i -lt 1000 ]; do sleep 1000 & i=$((i+1)); done;';
  const message = /^The node was low on resource: pids\. Threshold quantity: \d+, available: \d+\. $/;
  await expectEviction('processes', script, {}, message);
});

test('disk: the pod that fills it is evicted', { skip, timeout }, async () => {
  const script = 'head -c 55000000 /dev/zero > /data/zeros;';
  const message = /^The node was low on resource: ephemeral-storage\. Threshold quantity: 16Mi, available: \S+\. /;
  await expectEviction('disk', script, MODEST, message);
});

test('inodes: the pod with most files is evicted', { skip, timeout }, async () => {
  // The first files are measured before the threshold is met.
  const fill = (from: number, to: number): string =>
    `i=${from}; while [ $i -lt ${to} ]; do : > /data/$i; i=$((i+1)); done;`;
  const script = `${fill(0, 1500)} sleep 6; ${fill(1500, 3300)}`;
  await expectEviction(
    'inodes',
    script,
    {},
    /^The node was low on resource: inodes\. Threshold quantity: 1k, available: \S+\. $/,
  );
});
