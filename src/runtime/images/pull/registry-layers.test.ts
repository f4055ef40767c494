/** Layers pulled into a storage: existing ones, and invalid ones. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { silentLog } from '../../../base/log.ts';
import { createMemoryHost } from '../../../host/fake/memory-host.ts';
import type { HttpRequest } from '../../../host/network.ts';
import { openStorage } from '../../open-storage.ts';
import { digestOf } from '../../storage/digest.ts';
import { buildConfig, buildLayer } from '../fake/image-archives.ts';
import type { PullProgress } from '../image-puller.ts';
import { describe, manifestOf, type ScriptedAnswer } from './fake/scripted-pull.ts';
import { createRegistryPuller } from './registry-puller.ts';

const LAYER_TYPE = 'application/vnd.oci.image.layer.v1.tar';
const LAYERS = [await buildLayer({ base: 'x' }), await buildLayer({ top: 'y' })];
const never = new AbortController().signal;
const hostOf = ({ target }: HttpRequest): string => ('host' in target ? target.host : '');

/** The registry `r.io` and the mirrors `m1` and `m2`, all with `app:1`; `answer` may override a response. */
async function scene(answer: (request: HttpRequest) => ReturnType<ScriptedAnswer> | undefined = () => undefined) {
  const { fs, clock, ...host } = createMemoryHost();
  await fs.makeDirectory('/certs.d/r.io');
  await fs.writeFile('/certs.d/r.io/hosts.toml', '[host."https://m1"]\n[host."https://m2"]');
  const warnings: unknown[] = [];
  const log = { ...silentLog, warn: (_: string, fields: unknown) => void warnings.push(fields) };
  const settings = { registryConfigDirs: ['/certs.d'], pinnedImages: [] };
  const machine = { fs, clock, settings, architecture: 'amd64', log };
  const storage = await openStorage({ ...host, ...machine, paths: { storage: '/s' }, driver: 'native' });
  const blobs: string[] = [];
  const pool = () => ({
    request: async (request: HttpRequest) => {
      const { data = new Uint8Array(), ...rest } = answer(request) ?? { data: contentAt(request.path) };
      const layer = LAYERS.findIndex((each) => request.path.includes(digestOf(each)));
      if (layer >= 0) blobs.push(`${layer} from ${hostOf(request)}`);
      const body = (async function* () {
        yield data;
      })();
      return { status: 200, headers: {}, body, ...rest };
    },
    [Symbol.dispose]: () => {},
  });
  const network = { lookup: async (name: string) => [name] as const, pool };
  const puller = createRegistryPuller({ ...machine, network, ingest: storage.ingest, env: {} });
  const progress: PullProgress[] = [];
  const pull = async (tag = '1') => {
    const pulling = puller.pull(`r.io/app:${tag}`, undefined, never, (each) => progress.push(each));
    pulling.catch(() => {});
    await clock.advance(60_000);
    return pulling;
  };
  const unfinished = async () => {
    const processes = await fs.readDirectory('/s/unfinished');
    return (await Promise.all(processes.map(({ name }) => fs.readDirectory(`/s/unfinished/${name}`)))).flat();
  };
  return { pull, progress, blobs, warnings, fs, unfinished };
}

function contentAt(path: string): Uint8Array {
  const images = { '1': LAYERS, base: LAYERS.slice(0, 1) };
  for (const [tag, layers] of Object.entries(images)) {
    const config = buildConfig({ layers });
    const manifest = manifestOf(
      layers.map((layer) => describe(layer, LAYER_TYPE)),
      config,
    );
    if (path.includes(`manifests/${tag}`)) return manifest;
    for (const blob of [config, ...layers]) if (path.includes(digestOf(blob))) return blob;
  }
  throw new Error(`nothing at ${path}`);
}

const phases = (progress: readonly PullProgress[], layer: number): readonly string[] =>
  progress.flatMap((each) =>
    each.kind === 'layer' && each.digest === digestOf(LAYERS[layer] ?? '') ? [each.state.phase] : [],
  );

test('an existing layer is reported at once, before the others are received', async () => {
  const { pull, progress, blobs } = await scene();
  await pull('base');
  progress.length = 0;
  await pull();
  assert.deepEqual(blobs, ['0 from m1', '1 from m1']);
  assert.deepEqual(
    [phases(progress, 0), phases(progress, 1)],
    [
      ['waiting', 'present'],
      ['waiting', 'coming', 'coming', 'done'],
    ],
  );
  const reported = progress.map((each) => (each.kind === 'layer' ? each.state.phase : each.kind));
  assert.ok(reported.indexOf('present') < reported.indexOf('coming'));
});

/** Same length, different content. */
const spoiled = (data: Uint8Array): Uint8Array => data.map((byte, index) => (index === 520 ? byte ^ 1 : byte));

const spoiledBy = (...liars: readonly string[]) => {
  const layer = LAYERS[1] ?? new Uint8Array();
  return (request: HttpRequest) =>
    liars.includes(hostOf(request)) && request.path.includes(digestOf(layer)) ? { data: spoiled(layer) } : undefined;
};

test('an invalid layer of a mirror is fetched from the next host, and the mirror is named', async () => {
  const { pull, progress, blobs, warnings, unfinished } = await scene(spoiledBy('m1'));
  const { id } = await pull();
  assert.equal(id, digestOf(buildConfig({ layers: LAYERS })));
  assert.deepEqual(
    blobs.filter((each) => each.startsWith('1')),
    ['1 from m1', '1 from m2'],
  );
  assert.deepEqual(phases(progress, 1), [
    'waiting',
    'coming',
    'coming',
    'done',
    'retrying',
    'coming',
    'coming',
    'done',
  ]);
  const [warning] = warnings as Array<{ readonly reason: string }>; // as passed to `warn`
  assert.match(warning?.reason ?? '', /^https:\/\/m1\/v2: layer: has digest sha256:\w+, expected sha256:\w+$/);
  assert.deepEqual(await unfinished(), []);
});

test('a layer that is invalid at all hosts is requested once from each, and nothing is kept', async () => {
  const { pull, blobs, fs, unfinished } = await scene(spoiledBy('m1', 'm2', 'r.io'));
  await assert.rejects(pull(), {
    code: 'Unknown',
    message:
      /": https:\/\/m1\/v2: layer: has .*; https:\/\/m2\/v2: layer: has .*; https:\/\/r\.io\/v2: layer: has \S+ \S+, expected \S+$/,
  });
  const requested = blobs.filter((each) => each.startsWith('1'));
  assert.deepEqual(requested, ['1 from m1', '1 from m2', '1 from r.io']);
  assert.deepEqual(await unfinished(), []);
  const left = (await fs.readDirectory('/s/layers/native')).map(({ name }) => name);
  assert.deepEqual(
    left.filter((name) => /^[0-9a-f]{64}/.test(name)),
    [],
  );
});

test('a layer that cannot be unpacked is fetched from the next host too', async () => {
  const garbage = (LAYERS[1] ?? new Uint8Array()).map(() => 0xff);
  const { pull, blobs } = await scene((request) =>
    hostOf(request) !== 'r.io' && request.path.includes(digestOf(LAYERS[1] ?? '')) ? { data: garbage } : undefined,
  );
  await pull();
  assert.deepEqual(
    blobs.filter((each) => each.startsWith('1')),
    ['1 from m1', '1 from m2', '1 from r.io'],
  );
});

test('an invalid layer sent by several hosts is fetched again without the first one', async () => {
  const layer = LAYERS[1] ?? new Uint8Array();
  const { pull, warnings, blobs } = await scene((request) => {
    if (!request.path.includes(digestOf(layer))) return undefined;
    const offset = Number(/\d+/.exec(request.headers?.find(([name]) => name === 'Range')?.[1] ?? '')?.[0] ?? 0);
    if (hostOf(request) !== 'm1') {
      const headers = { 'content-range': `bytes ${offset}-${layer.length - 1}/${layer.length}` };
      return offset === 0 ? undefined : { status: 206, headers, data: layer.subarray(offset) };
    }
    return offset === 0 ? { data: spoiled(layer).subarray(0, 700) } : { status: 503 };
  });
  await pull();
  const [warning] = warnings as Array<{ readonly reason: string }>; // as passed to `warn`
  assert.match(warning?.reason ?? '', /^https:\/\/m1\/v2 and https:\/\/m2\/v2: layer: has digest /);
  assert.deepEqual(
    blobs.filter((each) => each.startsWith('1')),
    ['1 from m1', '1 from m1', '1 from m2', '1 from m2'],
  );
});
