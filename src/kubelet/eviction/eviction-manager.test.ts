import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Pod } from '../../api/generated/core-v1.ts';
import type { PodStats } from '../../api/stats-summary.ts';
import { silentLog } from '../../base/log.ts';
import { parseQuantity } from '../../base/quantity.ts';
import { createMemoryHost } from '../../host/fake/memory-host.ts';
import { SeededRandom } from '../../host/fake/seeded-random.ts';
import { PodEvents } from '../events/pod-events.ts';
import type { PressureSignal } from '../node/signals/pressure-signal.ts';
import type { PodFailure } from '../pod/pod-failure.ts';
import { isCriticalPod } from '../resources/critical-pod.ts';
import { EvictionManager, type EvictionSettings } from './eviction-manager.ts';
import { apiPod, type PodFigures, podStats } from './fake-pods.fixture.ts';
import { NodePressure } from './node-pressure.ts';
import type { NodeReclaim } from './node-reclaim.ts';

const GIB = 2 ** 30;
const ROOT = '/var/lib/kubelet';
const SETTINGS: EvictionSettings = { maxPodGraceSeconds: 0, isolatesLocalStorage: true, podsCgroup: '/kubepods' };

interface Killed {
  readonly name: string;
  readonly graceSeconds: number;
  readonly failure: PodFailure;
}

/** A node of 16 GiB and its pods; what a test kills is gone at once. */
class FakeNode {
  readonly host = createMemoryHost();
  readonly events: string[] = [];
  readonly nodeEvents: string[] = [];
  readonly killed: Killed[] = [];
  readonly reclaimed: NodeReclaim[] = [];
  readonly pods = new Map<string, { readonly pod: Pod; readonly stats: PodStats | undefined }>();
  /** Called after each kill. */
  onKilled: () => void = () => {};
  /** Pods that do not end. */
  readonly stuck = new Set<string>();

  add(pod: Pod, figures?: PodFigures): void {
    this.pods.set(pod.metadata.uid, { pod, stats: figures && podStats(pod, figures) });
  }

  async useDisk(availableBytes: number): Promise<void> {
    await this.host.fs.makeDirectory(ROOT);
    this.host.fs.setUsage(ROOT, { capacityBytes: 100 * GIB, availableBytes, inodes: 100, inodesFree: 50 });
  }

  useMemory(bytes: number): void {
    const rest = { rssBytes: 0, pageFaults: 0, majorPageFaults: 0 }; // words: quoted
    this.host.cgroupStats.set('/', { memory: { ...rest, usageBytes: bytes, workingSetBytes: bytes } });
  }

  start(signals: readonly PressureSignal[], settings: Partial<EvictionSettings> = {}, gracePeriodMs = 0) {
    const { clock, fs, cgroupStats, pressureEvents } = this.host;
    const thresholds = signals.map((signal) => ({ signal, value: { quantity: parseQuantity('1Gi') }, gracePeriodMs }));
    const pressure = new NodePressure(
      {
        thresholds,
        pressureTransitionMs: 60_000,
        enforcesPods: false,
        separatesDisks: true,
        rootDir: ROOT,
        podsCgroup: '/kubepods',
        memoryBytes: 16 * GIB,
        podsMemoryBytes: 16 * GIB,
      },
      {
        fs,
        cgroupStats,
        images: { imageFsInfo: async () => ({ imageFilesystems: [], containerFilesystems: [] }) },
        clock,
        log: silentLog,
      },
    );
    const events = new PodEvents(clock);
    events.subscribe((pod, { reason }) => this.events.push(`${reason} ${pod.metadata.name}`));
    const statsNow = async () => [...this.pods.values()].flatMap(({ stats }) => stats ?? []);
    const manager: EvictionManager = new EvictionManager(
      { ...SETTINGS, ...settings },
      {
        pressure,
        stats: { pods: statsNow, measuredPods: statsNow },
        pods: {
          active: () => [...this.pods.values()].map(({ pod }) => pod),
          kill: async (uid, ending) => {
            const name = this.pods.get(uid)?.pod.metadata.name ?? '';
            this.killed.push({ name, ...ending });
            if (this.stuck.has(name)) return new Promise(() => {});
            this.pods.delete(uid);
            this.onKilled();
            manager.onPodChanged();
          },
          isEnding: (uid) => this.killed.some(({ name }) => `uid-${name}` === uid),
          isFinished: (uid) => !this.pods.has(uid),
        },
        reclaim: {
          deadContainers: async () => void this.reclaimed.push('deadContainers'),
          unusedImages: async () => void this.reclaimed.push('unusedImages'),
        },
        events,
        nodeEvents: { record: (_type, reason, message) => void this.nodeEvents.push(`${reason}: ${message}`) },
        pressureEvents,
        clock,
        log: silentLog,
      },
    );
    const life = new AbortController();
    const done = manager.run(life.signal);
    return {
      pressure,
      async [Symbol.asyncDispose]() {
        life.abort();
        await clock.runUntil(done);
      },
    };
  }
}

test('a hard threshold evicts with one second of grace, and reports what it reclaims', async () => {
  const node = new FakeNode();
  node.add(apiPod('web', { terminationGracePeriodSeconds: 60 }), { memory: GIB });
  node.useMemory(15.5 * GIB);
  node.onKilled = () => node.useMemory(0);
  await using _running = node.start(['memory.available']);
  await node.host.clock.advance(0);
  assert.deepEqual(
    node.killed.map(({ name, graceSeconds }) => [name, graceSeconds]),
    [['web', 1]],
  );
  assert.deepEqual(node.nodeEvents, ['EvictionThresholdMet: Attempting to reclaim memory']);
  assert.deepEqual(node.events, ['Evicted web']);
  assert.deepEqual(node.reclaimed, []);
});

test('a soft threshold gives a pod its own grace period, up to the maximum', async () => {
  const node = new FakeNode();
  node.add(apiPod('patient', { terminationGracePeriodSeconds: 60 }), { memory: 3 * GIB });
  node.add(apiPod('short', { terminationGracePeriodSeconds: 5 }), { memory: 2 * GIB });
  node.useMemory(15.5 * GIB);
  await using _running = node.start(['memory.available'], { maxPodGraceSeconds: 30 }, 20_000);
  await node.host.clock.advance(15_000);
  assert.deepEqual(node.killed, []);
  await node.host.clock.advance(20_000);
  assert.deepEqual(
    node.killed.map(({ name, graceSeconds }) => [name, graceSeconds]),
    [
      ['patient', 30],
      ['short', 5],
    ],
  );
});

test('a disk threshold removes dead containers and images first', async () => {
  const node = new FakeNode();
  node.add(apiPod('web'), { root: 1 });
  await node.useDisk(GIB / 2);
  node.onKilled = () => void node.useDisk(50 * GIB);
  await using _running = node.start(['nodefs.available']);
  await node.host.clock.advance(0);
  assert.deepEqual(node.reclaimed, ['deadContainers', 'unusedImages']);
  assert.deepEqual(
    node.killed.map(({ name }) => name),
    ['web'],
  );
});

test('a pod that exceeds its limit of storage is evicted without pressure and without a disruption', async () => {
  const node = new FakeNode();
  await node.useDisk(50 * GIB);
  const volumes = [{ name: 'data', emptyDir: { sizeLimit: '1Ki' } }];
  node.add(apiPod('web', { volumes }), { volumes: { data: 2000 } });
  node.add(apiPod('other', { volumes }), { volumes: { data: 1000 } });
  await using _running = node.start([]);
  await node.host.clock.advance(0);
  const message = 'Usage of EmptyDir volume "data" exceeds the limit "1Ki". ';
  assert.deepEqual(node.killed, [
    { name: 'web', graceSeconds: 1, failure: { phase: 'Failed', reason: 'Evicted', message } },
  ]);
});

test('a pod that does not end is reported once, and holds up further evictions for a while', async () => {
  const node = new FakeNode();
  node.add(apiPod('stuck'), { memory: 5 * GIB });
  node.add(apiPod('other'), { memory: GIB });
  node.stuck.add('stuck');
  node.useMemory(15.5 * GIB);
  await using _running = node.start(['memory.available']);
  await node.host.clock.advance(39_000);
  assert.deepEqual(node.events, ['Evicted stuck', 'ExceededGracePeriod stuck']);
  await node.host.clock.advance(2_000);
  assert.deepEqual(
    node.killed.map(({ name }) => name),
    ['stuck', 'stuck'],
  );
  assert.equal(node.events.filter((each) => each === 'Evicted stuck').length, 1);
});

test('images on a disk of their own are an error while KubeletSeparateDiskGC is off', async () => {
  const host = createMemoryHost();
  const split = { imageFsPath: '/images', containerFsPath: '/containers' };
  const pressure = new NodePressure(
    {
      thresholds: [],
      pressureTransitionMs: 0,
      enforcesPods: false,
      separatesDisks: false,
      rootDir: '/containers',
      podsCgroup: '/kubepods',
      memoryBytes: GIB,
      podsMemoryBytes: GIB,
    },
    {
      fs: {
        readText: host.fs.readText,
        usage: host.fs.usage,
        stat: async (path) => deviceStat(path === split.imageFsPath ? 2 : 1),
      },
      cgroupStats: host.cgroupStats,
      images: {
        imageFsInfo: async () => ({
          imageFilesystems: [usageAt(split.imageFsPath)],
          containerFilesystems: [usageAt(split.containerFsPath)],
        }),
      },
      clock: host.clock,
      log: silentLog,
    },
  );
  await assert.rejects(pressure.update(new AbortController().signal), {
    message: 'KubeletSeparateDiskGC is turned off but we still have a split filesystem',
  });
});

function deviceStat(device: number): never {
  return { device } as never;
}

function usageAt(mountpoint: string): never {
  return { fsId: { mountpoint } } as never;
}

/** Any pods and any pressure: critical pods stay, and pods end one at a time, each only while the pressure lasts. */
test('property: critical pods are never evicted, and at most one pod at a time', async () => {
  for (let seed = 1; seed <= 40; seed++) {
    const random = new SeededRandom(seed);
    const pick = (max: number): number => Math.floor(random.fraction() * max);
    const node = new FakeNode();
    const critical = new Set<string>();
    for (let index = 0; index < 1 + pick(8); index++) {
      const priority = [0, -10, 1000, 2_000_000_000, 2_000_001_000][pick(5)] ?? 0;
      const pod = apiPod(`p${index}`, { priority });
      const isStatic = pick(4) === 0;
      const metadata = isStatic
        ? { ...pod.metadata, annotations: { 'kubernetes.io/config.source': 'file' } }
        : pod.metadata;
      const added = { ...pod, metadata };
      if (isCriticalPod(added)) critical.add(metadata.name);
      node.add(added, pick(5) === 0 ? undefined : { memory: pick(4 * GIB), processes: pick(100) });
    }
    const evictable = node.pods.size - critical.size;
    const relief = pick(evictable + 1);
    node.useMemory(15.5 * GIB);
    node.onKilled = () => {
      if (node.killed.length >= relief) node.useMemory(GIB);
    };
    await using _running = node.start(['memory.available']);
    await node.host.clock.advance(120_000);
    const names = node.killed.map(({ name }) => name);
    assert.deepEqual(
      names.filter((name) => critical.has(name)),
      [],
      `seed ${seed}`,
    );
    assert.equal(new Set(names).size, names.length, `seed ${seed}: a pod twice`);
    assert.equal(
      names.length,
      relief === 0 ? Math.min(1, evictable) : relief,
      `seed ${seed}: evicted after the relief`,
    );
  }
});
