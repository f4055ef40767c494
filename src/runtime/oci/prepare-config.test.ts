import assert from 'node:assert/strict';
import { test } from 'node:test';
import { MemoryFileSystem } from '../../host/fake/memory-file-system.ts';
import type { OciSeccomp, OciSpec } from './oci-spec.ts';
import { cacheFilter, prepareConfig, withoutCrunAnnotations } from './prepare-config.ts';
import { NO_FEATURES, probeSpec } from './probe-spec.ts';
import { createSeccompFilterCache } from './seccomp-filter-cache.ts';

const CONTAINER = { id: 'c1', bundle: '/b/c1' };
const CONFIG = '/b/c1/config.json';
const COMPILED = '/state/c1/seccomp.bpf';
const PATH = '/state/filters.json';
const SECCOMP: OciSeccomp = { defaultAction: 'SCMP_ACT_ERRNO' };
const OTHER: OciSeccomp = { defaultAction: 'SCMP_ACT_ALLOW' };
const FILTER = Uint8Array.from([6, 0, 0, 0, 0, 0, 255, 127]);
const COMPILED_ANNOTATION = { 'run.oci.seccomp_bpf_data': 'BgAAAAAA/38=' };

function specWith(seccomp: OciSeccomp | undefined, annotations: OciSpec['annotations'] = {}): OciSpec {
  const paths = { rootfs: '/r', source: '/s', pauseProgram: '/p', cgroupsPath: '/c' };
  const spec = probeSpec(paths, NO_FEATURES);
  return { ...spec, annotations, linux: { ...spec.linux, ...(seccomp && { seccomp }) } };
}

async function world() {
  const fs = new MemoryFileSystem(() => 0);
  await Promise.all([fs.makeDirectory('/b/c1'), fs.makeDirectory('/state/c1')]);
  await fs.writeFile(COMPILED, FILTER);
  const newProcess = (stamp = 'crun 1') => ({
    fs,
    crun: { filters: createSeccompFilterCache({ path: PATH, stamp, fs }) },
  });
  const write = (spec: OciSpec) => fs.writeFile(CONFIG, JSON.stringify(spec));
  const written = async (): Promise<OciSpec> => JSON.parse(await fs.readText(CONFIG));
  return { fs, newProcess, write, written };
}

test('a compiled filter is used for the next container, also by the next process', async () => {
  const { newProcess, write, written } = await world();
  const first = newProcess();
  await write(specWith(SECCOMP));
  assert.deepEqual(await prepareConfig(CONTAINER, first), specWith(SECCOMP));
  await cacheFilter(specWith(SECCOMP), COMPILED, first);
  for (const deps of [first, newProcess()]) {
    await write(specWith(SECCOMP));
    assert.deepEqual(await prepareConfig(CONTAINER, deps), specWith(SECCOMP, COMPILED_ANNOTATION));
    assert.deepEqual(await written(), specWith(SECCOMP, COMPILED_ANNOTATION));
  }
  assert.deepEqual(withoutCrunAnnotations(await written()), specWith(SECCOMP));
});

test('the processes of a scope are in the scope itself', async () => {
  const { newProcess, write, written } = await world();
  const plain = specWith(undefined);
  const scope = (annotations: OciSpec['annotations']): OciSpec => ({
    ...plain,
    annotations,
    linux: { ...plain.linux, cgroupsPath: 'kubepods-pod1.slice:cri-nodelet:c1' },
  });
  await write(scope({ 'run.oci.systemd.subgroup': 'other' }));
  await prepareConfig(CONTAINER, newProcess());
  assert.deepEqual(await written(), scope({ 'run.oci.systemd.subgroup': '' }));
});

const uncached: Record<string, { seccomp?: OciSeccomp; stamp?: string }> = {
  'another section': { seccomp: OTHER },
  'no section': {},
  'one with a listener': { seccomp: { ...SECCOMP, listenerPath: '/l' } },
  'another program or kernel': { seccomp: SECCOMP, stamp: 'crun 2' },
};

for (const [name, { seccomp, stamp }] of Object.entries(uncached)) {
  test(`a compiled filter is not used for ${name}`, async () => {
    const { newProcess, write, written } = await world();
    await cacheFilter(specWith(SECCOMP), COMPILED, newProcess());
    await write(specWith(seccomp));
    await prepareConfig(CONTAINER, newProcess(stamp));
    assert.deepEqual(await written(), specWith(seccomp));
  });
}

test('an invalid or missing filter is not cached', async () => {
  const { fs, newProcess, write } = await world();
  const deps = newProcess();
  await fs.writeFile(COMPILED, FILTER.subarray(0, 7));
  await cacheFilter(specWith(SECCOMP), COMPILED, deps);
  await cacheFilter(specWith(SECCOMP), '/state/c1/none', deps);
  await write(specWith(SECCOMP));
  assert.deepEqual(await prepareConfig(CONTAINER, deps), specWith(SECCOMP));
});

test('annotations that control crun are removed, with and without the fast path', async () => {
  const { fs, newProcess, write, written } = await world();
  for (const deps of [{ fs }, newProcess()]) {
    await write(specWith(SECCOMP, { ...COMPILED_ANNOTATION, 'run.oci.handler': 'krun', other: 'stays' }));
    await prepareConfig(CONTAINER, deps);
    assert.deepEqual(await written(), specWith(SECCOMP, { other: 'stays' }));
  }
});
