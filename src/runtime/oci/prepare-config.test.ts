import assert from 'node:assert/strict';
import { test } from 'node:test';
import { MemoryFileSystem } from '../../host/fake/memory-file-system.ts';
import { createSeccompFilterCache } from './seccomp-filter-cache.ts';
import type { OciSeccomp, OciSpec } from './oci-spec.ts';
import { cacheFilter, prepareConfig, withoutCrunAnnotations } from './prepare-config.ts';
import { NO_FEATURES, probeSpec } from './probe-spec.ts';

const CONTAINER = { id: 'c1', bundle: '/b/c1' };
const CONFIG = '/b/c1/config.json';
const COMPILED = '/state/c1/seccomp.bpf';
const PATH = '/state/filters.json';
const SECCOMP: OciSeccomp = { defaultAction: 'SCMP_ACT_ERRNO' };
const OTHER: OciSeccomp = { defaultAction: 'SCMP_ACT_ALLOW' };
const FILTER = Uint8Array.from([6, 0, 0, 0, 0, 0, 255, 127]);
const READY = { 'run.oci.seccomp_bpf_data': 'BgAAAAAA/38=' };

function specWith(seccomp: OciSeccomp | undefined, annotations: OciSpec['annotations'] = {}): OciSpec {
  const places = { rootfs: '/r', source: '/s', pauseProgram: '/p', cgroupsPath: '/c' };
  const spec = probeSpec(places, NO_FEATURES);
  return { ...spec, annotations, linux: { ...spec.linux, ...(seccomp && { seccomp }) } };
}

async function world() {
  const fs = new MemoryFileSystem(() => 0);
  await Promise.all([fs.makeDirectory('/b/c1'), fs.makeDirectory('/state/c1')]);
  await fs.writeFile(COMPILED, FILTER);
  const life = (stamp = 'crun 1') => ({ fs, crun: { filters: createSeccompFilterCache({ path: PATH, stamp, fs }) } });
  const write = (spec: OciSpec) => fs.writeFile(CONFIG, JSON.stringify(spec));
  const written = async (): Promise<OciSpec> => JSON.parse(await fs.readText(CONFIG));
  return { fs, life, write, written };
}

test('a filter that was compiled once is ready for the next container, also in the next life', async () => {
  const { life, write, written } = await world();
  const first = life();
  await write(specWith(SECCOMP));
  assert.deepEqual(await prepareConfig(CONTAINER, first), specWith(SECCOMP));
  await cacheFilter(specWith(SECCOMP), COMPILED, first);
  for (const deps of [first, life()]) {
    await write(specWith(SECCOMP));
    assert.deepEqual(await prepareConfig(CONTAINER, deps), specWith(SECCOMP, READY));
    assert.deepEqual(await written(), specWith(SECCOMP, READY));
  }
  assert.deepEqual(withoutCrunAnnotations(await written()), specWith(SECCOMP));
});

const unready: Record<string, { seccomp?: OciSeccomp; stamp?: string }> = {
  'another section': { seccomp: OTHER },
  'no section': {},
  'one with a listener': { seccomp: { ...SECCOMP, listenerPath: '/l' } },
  'another program or kernel': { seccomp: SECCOMP, stamp: 'crun 2' },
};

for (const [name, { seccomp, stamp }] of Object.entries(unready)) {
  test(`a compiled filter is not taken for ${name}`, async () => {
    const { life, write, written } = await world();
    await cacheFilter(specWith(SECCOMP), COMPILED, life());
    await write(specWith(seccomp));
    await prepareConfig(CONTAINER, life(stamp));
    assert.deepEqual(await written(), specWith(seccomp));
  });
}

test('what is no filter is not kept, and nothing where there is none', async () => {
  const { fs, life, write } = await world();
  const deps = life();
  await fs.writeFile(COMPILED, FILTER.subarray(0, 7));
  await cacheFilter(specWith(SECCOMP), COMPILED, deps);
  await cacheFilter(specWith(SECCOMP), '/state/c1/none', deps);
  await write(specWith(SECCOMP));
  assert.deepEqual(await prepareConfig(CONTAINER, deps), specWith(SECCOMP));
});

test('nobody else gives orders to crun, whether it is known to be one or not', async () => {
  const { fs, life, write, written } = await world();
  for (const deps of [{ fs }, life()]) {
    await write(specWith(SECCOMP, { ...READY, 'run.oci.handler': 'krun', other: 'stays' }));
    await prepareConfig(CONTAINER, deps);
    assert.deepEqual(await written(), specWith(SECCOMP, { other: 'stays' }));
  }
});
