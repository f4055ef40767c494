/**
 * The time from the moment when the memory that is left for pods falls below the eviction threshold to the end of the
 * container that uses it, on kubelet (with its defaults, and with the kernel's notifications) and on Nodelet, all with Debian's
 * containerd. Pods have 2.5 GiB, of which 1 GiB is to be left, so that other programs of the machine do not matter; a container
 * uses 2 GiB, and exits on SIGTERM.
 *
 *   scripts/node --import ./test/setup.ts test/bench/eviction.ts [--rounds 5] [--only Nodelet]
 */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { totalmem } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { BUSYBOX_IMAGE } from '../../src/app/images/local-images.ts';
import { createLinuxCgroupStats } from '../../src/host/linux/cgroup/linux-cgroup-stats.ts';
import { type ControlPlane, podOn } from '../integration/cluster-fixture.ts';
import { startContainerd } from '../integration/containerd-fixture.ts';
import { startGoKubelet } from '../integration/go-kubelet.ts';
import { NODELET_KUBELET } from '../integration/nodelet-node.ts';
import { startTestCluster } from '../integration/test-cluster.ts';

const { values } = parseArgs({
  options: { rounds: { type: 'string', default: '5' }, only: { type: 'string', default: '' } },
});
const NODE = 'node-1';
const MIB = 2 ** 20;
const EATEN_MIB = 2000;
const PODS_BYTES = 2560 * MIB;
const THRESHOLD_BYTES = 1024 * MIB;

interface Side {
  readonly command?: readonly string[];
  readonly flags?: readonly string[];
}

const SIDES: Readonly<Record<string, Side>> = {
  kubelet: {},
  'kubelet, memcg': { flags: ['--kernel-memcg-notification'] },
  Nodelet: { command: NODELET_KUBELET },
};

const stats = createLinuxCgroupStats();

/** As both agents compute it. */
async function isShort(podsCgroup: string): Promise<boolean> {
  const used = (await stats.usage([podsCgroup])).get(podsCgroup)?.memory.workingSetBytes ?? 0;
  return PODS_BYTES - used < THRESHOLD_BYTES;
}

/** Ends by itself on SIGTERM; its memory is a tmpfs, so that it is not page cache. */
function eater(name: string): object {
  const script = `trap exit TERM; dd if=/dev/zero of=/mem/zeros bs=1M count=${EATEN_MIB} & wait; sleep 1000 & wait`;
  return podOn(NODE, name, {
    terminationGracePeriodSeconds: 1,
    automountServiceAccountToken: false,
    containers: [
      {
        name: 'main',
        image: BUSYBOX_IMAGE,
        command: ['sh', '-c', script],
        volumeMounts: [{ name: 'mem', mountPath: '/mem' }],
      },
    ],
    volumes: [{ name: 'mem', emptyDir: { medium: 'Memory', sizeLimit: '2500Mi' } }],
  });
}

/** The shell in the pod's cgroup. */
function shellOf(podCgroup: string): number | undefined {
  if (!existsSync(podCgroup)) return undefined;
  const folders = readdirSync(podCgroup, { recursive: true, encoding: 'utf8' });
  const files = folders.filter((each) => each.endsWith('cgroup.procs')).map((each) => join(podCgroup, each));
  const pids = files.flatMap((each) => readFileSync(each, 'utf8').split('\n').filter(Boolean).map(Number));
  return pids.find((pid) => {
    try {
      return readFileSync(`/proc/${pid}/comm`, 'utf8') === 'sh\n';
    } catch {
      return false;
    }
  });
}

async function measure(plane: ControlPlane, podsCgroup: string, name: string): Promise<number> {
  await plane.apply(eater(name));
  const uid = await plane.field(name, '.metadata.uid');
  const cgroup = join('/sys/fs/cgroup/memory', podsCgroup, 'besteffort', `pod${uid}`);
  let shell: number | undefined;
  let crossed: number | undefined;
  for (const end = performance.now() + 120_000; performance.now() < end; await sleep(2)) {
    shell ??= shellOf(cgroup);
    if (shell !== undefined && crossed === undefined && (await isShort(podsCgroup))) crossed = performance.now();
    if (crossed !== undefined && shell !== undefined && !existsSync(`/proc/${shell}`))
      return performance.now() - crossed;
  }
  throw new Error(`pod ${name} was not evicted`);
}

async function measureSide({ command, flags = [] }: Side, rounds: number): Promise<readonly number[]> {
  const config = {
    evictionHard: { 'memory.available': String(THRESHOLD_BYTES) },
    kubeReserved: { memory: String(totalmem() - PODS_BYTES) },
    enforceNodeAllocatable: ['pods'],
    evictionPressureTransitionPeriod: '1s',
  };
  const { plane, runtime, stop } = await startTestCluster(
    () => startContainerd(),
    (plane, { endpoint, cgroupParent }) =>
      startGoKubelet({ plane, nodeName: NODE, endpoint, cgroupParent, config, flags, ...(command && { command }) }),
  );
  const times: number[] = [];
  try {
    for (let round = 0; round < rounds; round++) {
      const name = `eater-${round}`;
      await sleep(10_000 * Math.random()); // any moment between two checks of kubelet
      times.push(await measure(plane, join(runtime.cgroupParent, 'kubepods'), name));
      await plane.wait(name, 'jsonpath={.status.reason}=Evicted');
      await plane.remove(name);
      await plane.wait(`node/${NODE}`, 'condition=MemoryPressure=False');
    }
  } finally {
    await stop();
  }
  return times;
}

console.log('ms from the threshold to the end of the container');
console.log(`${''.padEnd(16)}${'median'.padStart(8)}${'least'.padStart(8)}${'most'.padStart(8)}`);
for (const [name, side] of Object.entries(SIDES).filter(([each]) => each.startsWith(values.only))) {
  const times = (await measureSide(side, Number(values.rounds))).toSorted((a, b) => a - b);
  const cells = [times[Math.floor(times.length / 2)], times[0], times.at(-1)];
  console.log(`${name.padEnd(16)}${cells.map((ms) => (ms ?? Number.NaN).toFixed(0).padStart(8)).join('')}`);
}
