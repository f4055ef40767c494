import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { PersistentVolumeSpec, Volume } from '../../api/generated/core-v1.ts';
import { createMemoryHost } from '../../host/fake/memory-host.ts';
import { LOCAL_PROVISIONER, PROVISIONED_BY } from '../objects/pod-claims.ts';
import type { VolumeSpec } from './volume-spec.ts';
import { type MeasurableVolume, usageMethod, VolumeUsages, type VolumeUsagesDeps } from './volume-usage.ts';

const MINUTE_MS = 60_000;
const DISK = { capacityBytes: 1000, availableBytes: 300, usedBytes: 650, inodes: 50, inodesFree: 10 };

function own(source: Omit<Volume, 'name'>): VolumeSpec {
  return { name: 'v', volume: { name: 'v', ...source }, readOnly: false, mode: 'Filesystem' };
}

function persistent(spec: PersistentVolumeSpec, annotations: Readonly<Record<string, string>> = {}): VolumeSpec {
  const bound = {
    claim: { metadata: { name: 'data' }, spec: {} },
    volume: { metadata: { name: 'pv', annotations }, spec },
  };
  return { ...own({ persistentVolumeClaim: { claimName: 'data' } }), bound };
}

const methods: Readonly<Record<string, [VolumeSpec, string]>> = {
  emptyDir: [own({ emptyDir: {} }), 'tree'],
  'emptyDir in memory': [own({ emptyDir: { medium: 'Memory' } }), 'tree'],
  configMap: [own({ configMap: { name: 'c' } }), 'tree'],
  projected: [own({ projected: {} }), 'tree'],
  hostPath: [own({ hostPath: { path: '/srv' } }), 'none'],
  nfs: [own({ nfs: { server: 's', path: '/' } }), 'fileSystem'],
  csi: [own({ csi: { driver: 'd' } }), 'driver'],
  'persistent hostPath': [persistent({ hostPath: { path: '/srv' } }), 'none'],
  'directory of a claim': [persistent({ hostPath: { path: '/srv' } }, { [PROVISIONED_BY]: LOCAL_PROVISIONER }), 'tree'],
  'persistent local': [persistent({ local: { path: '/mnt' } }), 'fileSystem'],
  'persistent csi': [persistent({ csi: { driver: 'd', volumeHandle: 'h' } }), 'driver'],
  'block csi': [{ ...persistent({ csi: { driver: 'd', volumeHandle: 'h' } }), mode: 'Block' }, 'driver'],
  'block local': [{ ...persistent({ local: { path: '/dev/x' } }), mode: 'Block' }, 'none'],
};

for (const [what, [spec, expected]] of Object.entries(methods)) {
  test(`usageMethod(): ${what}`, () => assert.equal(usageMethod(spec), expected));
}

async function machine(more: Partial<VolumeUsagesDeps> = {}) {
  const host = createMemoryHost();
  const { fs, clock, random } = host;
  await fs.makeDirectory('/v');
  await fs.writeFile('/v/file', 'x'.repeat(100));
  fs.setUsage('/', DISK);
  const pods = new Map<string, readonly MeasurableVolume[]>();
  const errors: string[] = [];
  const usages = new VolumeUsages({
    fs,
    clock,
    random,
    periodMs: MINUTE_MS,
    volumes: () => pods,
    onError: (uid, volume) => errors.push(`${uid}/${volume}`),
    ...more,
  });
  return { fs, clock, pods, errors, usages };
}

const signal = new AbortController().signal;
const EMPTY_DIR = { name: 'cache', spec: own({ emptyDir: {} }), path: '/v' };

test('VolumeUsages measures trees, file systems and drivers', async () => {
  const reported = { ...DISK, usedBytes: 7, inodesUsed: 1 };
  const { fs, clock, pods, usages } = await machine({ driverUsage: async () => reported });
  const local = { name: 'local', spec: persistent({ local: { path: '/v' } }), path: '/v' };
  const csi = { name: 'csi', spec: own({ csi: { driver: 'd' } }), path: '/v' };
  const host = { name: 'host', spec: own({ hostPath: { path: '/v' } }), path: '/v' };
  pods.set('u1', [EMPTY_DIR, local, csi, host]);
  await usages.measureDue(signal);
  const tree = await fs.treeUsage('/v', signal);
  const latest = usages.latest('u1');
  assert.deepEqual([...latest.keys()], ['cache', 'local', 'csi']);
  const common = { ...DISK, measuredMs: clock.now() };
  assert.deepEqual(latest.get('cache'), { ...common, usedBytes: tree.bytes, inodesUsed: tree.inodes });
  assert.deepEqual(latest.get('local'), { ...common, inodesUsed: 40 });
  assert.deepEqual(latest.get('csi'), { ...reported, measuredMs: clock.now() });
});

test('VolumeUsages measures again after one to two periods, and drops pods that are gone', async () => {
  const { fs, clock, pods, usages } = await machine();
  pods.set('u1', [EMPTY_DIR]);
  const end = new AbortController();
  const running = usages.run(end.signal);
  usages.latest('u1');
  await clock.advance(1);
  const first = usages.latest('u1').get('cache')?.usedBytes ?? 0;
  await fs.writeFile('/v/more', 'x'.repeat(100_000));
  await clock.advance(MINUTE_MS - 1000);
  assert.equal(usages.latest('u1').get('cache')?.usedBytes, first);
  await clock.advance(MINUTE_MS + 2000);
  assert.ok((usages.latest('u1').get('cache')?.usedBytes ?? 0) > first);
  pods.delete('u1');
  await clock.advance(MINUTE_MS / 3);
  assert.equal(usages.latest('u1').size, 0);
  end.abort();
  await running;
});

test('VolumeUsages measures new pods soon', async () => {
  const { clock, pods, usages } = await machine();
  const end = new AbortController();
  const running = usages.run(end.signal);
  usages.latest('u1');
  await clock.advance(1);
  pods.set('u1', [EMPTY_DIR]);
  await clock.advance(MINUTE_MS / 6);
  assert.equal(usages.latest('u1').size, 1);
  end.abort();
  await running;
});

test('VolumeUsages keeps the last usage of a volume that cannot be measured', async () => {
  const { fs, clock, pods, errors, usages } = await machine();
  pods.set('u1', [EMPTY_DIR]);
  await usages.measureDue(signal);
  const first = usages.latest('u1').get('cache');
  fs.errors.failNext('treeUsage', 'EIO');
  await clock.advance(2 * MINUTE_MS);
  await usages.measureDue(signal);
  assert.deepEqual(errors, ['u1/cache']);
  assert.deepEqual(usages.latest('u1').get('cache'), first);
});

test('VolumeUsages measures nothing while no component asks', async () => {
  const { clock, pods, usages } = await machine();
  pods.set('u1', [EMPTY_DIR]);
  const end = new AbortController();
  const running = usages.run(end.signal);
  await clock.advance(10 * MINUTE_MS);
  assert.equal(usages.latest('u1').size, 0);
  await clock.advance(1);
  assert.equal(usages.latest('u1').size, 1);
  const measuredMs = usages.latest('u1').get('cache')?.measuredMs ?? 0;
  await clock.advance(60 * MINUTE_MS);
  const lastMs = usages.latest('u1').get('cache')?.measuredMs ?? 0;
  assert.ok(lastMs - measuredMs < 10 * MINUTE_MS);
  end.abort();
  await running;
});

test('VolumeUsages leaves out a volume whose server does not answer, and measures the next one', async () => {
  const { pods, errors, usages } = await machine();
  const checkResponse = async () => {
    throw new Error('server does not answer');
  };
  pods.set('u1', [{ ...EMPTY_DIR, name: 'dead', checkResponse }, EMPTY_DIR]);
  await usages.measureDue(signal);
  assert.deepEqual(errors, ['u1/dead']);
  assert.deepEqual([...usages.latest('u1').keys()], ['cache']);
});

test('VolumeUsages measures all volumes when it is asked to, due or not', async () => {
  const { fs, pods, usages } = await machine();
  pods.set('u1', [EMPTY_DIR]);
  await usages.measureNow(signal);
  const first = usages.latest('u1').get('cache')?.usedBytes ?? 0;
  await fs.writeFile('/v/more', 'x'.repeat(100_000));
  await usages.measureDue(signal);
  assert.equal(usages.latest('u1').get('cache')?.usedBytes, first);
  await usages.measureNow(signal);
  assert.ok((usages.latest('u1').get('cache')?.usedBytes ?? 0) >= first + 100_000);
});
