/** Registries that send layers very slowly: other pulls continue, and the transfer is given up with a reason. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { silentLog } from '../../../base/log.ts';
import { createMemoryHost } from '../../../host/fake/memory-host.ts';
import { type HttpRequest, type HttpResponse, NetworkError } from '../../../host/network.ts';
import { openStorage } from '../../open-storage.ts';
import { digestOf } from '../../storage/digest.ts';
import { buildConfig, buildLayer } from '../fake/image-archives.ts';
import { describe, manifestOf } from './fake/scripted-pull.ts';
import { createRegistryPuller } from './registry-puller.ts';

const MINUTE_MS = 60_000;
const LAYER_TYPE = 'application/vnd.oci.image.layer.v1.tar';
const never = new AbortController().signal;
const hostOf = ({ target }: HttpRequest): string => ('host' in target ? target.host : '');
const text = (character: string): string => character.repeat(20_000);
const layersOf = (...names: readonly string[]) => Promise.all(names.map((name) => buildLayer({ [name]: text(name) })));

type Image = readonly Uint8Array[];

/** How a host sends a layer: this many bytes at a time, with a pause before each. */
interface Pace {
  readonly chunkBytes: number;
  readonly pauseMs: number;
  /** Closes the connection after each chunk. */
  readonly closes?: boolean;
}

const TRICKLE: Pace = { chunkBytes: 1, pauseMs: MINUTE_MS };

/** Hosts with an image each, as `app:1`, and their paces; a host without one answers at once. */
async function scene(images: Readonly<Record<string, Image>>, paces: Readonly<Record<string, Pace>>, hostsToml = '') {
  const { fs, clock, ...host } = createMemoryHost();
  await fs.makeDirectory('/certs.d/evil.io');
  await fs.writeFile('/certs.d/evil.io/hosts.toml', hostsToml);
  const settings = { registryConfigDirs: ['/certs.d'], pinnedImages: [] };
  const machine = { fs, clock, settings, architecture: 'amd64', log: silentLog };
  const storage = await openStorage({ ...host, ...machine, paths: { storage: '/s' }, driver: 'native' });
  const requests: string[] = [];
  const paced = async function* (data: Uint8Array, pace: Pace, signal: AbortSignal) {
    for (let sent = 0; sent < data.length; sent += pace.chunkBytes) {
      if (pace.pauseMs > 0) await clock.sleep(pace.pauseMs, signal);
      yield data.subarray(sent, sent + pace.chunkBytes);
      if (pace.closes) throw new NetworkError('ECONNRESET', 'connection reset');
    }
  };
  const respond = (request: HttpRequest, signal: AbortSignal): HttpResponse => {
    const name = hostOf(request);
    const layers = images[name] ?? [];
    const found = layers.find((layer) => request.path.includes(digestOf(layer)));
    const pace = found === undefined ? undefined : paces[name];
    const whole = found ?? (request.path.includes('/manifests/') ? manifest(layers) : buildConfig({ layers }));
    const range = request.headers?.find(([key]) => key === 'Range')?.[1];
    const offset = Number(/\d+/.exec(range ?? '')?.[0] ?? 0);
    if (found !== undefined) requests.push(`${layers.indexOf(found)} from ${name} at ${offset}`);
    const data = whole.subarray(offset);
    const headers: Record<string, string> = range
      ? { 'content-range': `bytes ${offset}-${whole.length - 1}/${whole.length}` }
      : {};
    const body = paced(data, pace ?? { chunkBytes: data.length, pauseMs: 0 }, signal);
    return { status: range ? 206 : 200, headers, body };
  };
  const pool = () => ({
    request: async (request: HttpRequest, signal: AbortSignal) => respond(request, signal),
    [Symbol.dispose]: () => {},
  });
  const network = { lookup: async (name: string) => [name] as const, pool };
  const puller = createRegistryPuller({ ...machine, network, ingest: storage.ingest, env: {} });
  const pull = (registry: string, signal = never) => {
    const pulling = puller.pull(`${registry}/app:1`, undefined, signal);
    pulling.catch(() => {});
    return pulling;
  };
  return { clock, pull, requests, storage };
}

function manifest(layers: Image): Uint8Array {
  return manifestOf(
    layers.map((layer) => describe(layer, LAYER_TYPE)),
    buildConfig({ layers }),
  );
}

const idOf = (layers: Image): string => digestOf(buildConfig({ layers }));

test('three trickled layers of one image do not stop the pull of another', async () => {
  const [evil, good] = [await layersOf('a', 'b', 'c', 'd'), await layersOf('e', 'f')];
  const { clock, pull, requests } = await scene({ 'evil.io': evil, 'good.io': good }, { 'evil.io': TRICKLE });
  const end = new AbortController();
  const trickled = pull('evil.io', end.signal);
  await clock.advance(MINUTE_MS);
  assert.equal(requests.length, 3);
  const pulling = pull('good.io');
  await clock.advance(1000);
  end.abort(new Error('test ended'));
  await assert.rejects(trickled, { message: 'test ended' });
  assert.equal((await pulling).id, idOf(good));
});

test('a trickled layer does not stop the pull of an image of another registry that has the same layer', async () => {
  const image = await layersOf('a', 'b');
  const { clock, pull, storage } = await scene({ 'evil.io': image, 'good.io': image }, { 'evil.io': TRICKLE });
  const trickled = pull('evil.io');
  await clock.advance(MINUTE_MS);
  const pulling = pull('good.io');
  assert.equal((await pulling).id, idOf(image));
  await clock.advance(20 * MINUTE_MS);
  await assert.rejects(trickled);
  assert.equal(storage.images.find('good.io/app:1')?.id, idOf(image));
  assert.equal((await pull('good.io')).id, idOf(image));
});

test('a transfer below the minimum rate is given up, and the next host continues it', async () => {
  const image = await layersOf('a');
  const images = { 'evil.io': image, m1: image };
  const { clock, pull, requests } = await scene(images, { m1: TRICKLE }, '[host."https://m1"]');
  const pulling = pull('evil.io');
  await clock.advance(6 * MINUTE_MS);
  assert.equal((await pulling).id, idOf(image));
  assert.deepEqual(requests, ['0 from m1 at 0', '0 from evil.io at 5']);
});

const SLOW: Record<string, Pace> = {
  'sends a byte each minute': TRICKLE,
  'sends a byte for each connection': { chunkBytes: 1, pauseMs: 10_000, closes: true },
  'sends a byte and is silent until it times out': { chunkBytes: 1, pauseMs: 4.9 * MINUTE_MS },
};

for (const [what, pace] of Object.entries(SLOW)) {
  test(`the error of a registry that ${what} has host, layer, bytes and rate`, async () => {
    const image = await layersOf('a');
    const { clock, pull } = await scene({ 'evil.io': image }, { 'evil.io': pace });
    const pulling = pull('evil.io');
    await clock.advance(7 * MINUTE_MS);
    await assert.rejects(pulling, {
      code: 'Unknown',
      message: new RegExp(
        `^failed to pull image "evil.io/app:1": https://evil.io/v2: layer ${digestOf(image[0] ?? '')}: ` +
          String.raw`received \d+ of \d+ bytes, \d+ bytes in \d+ seconds from this host, less than 1024 bytes per second$`,
      ),
    });
  });
}

test('a slow line is not given up', async () => {
  const image = await layersOf(...'abc');
  const pace = { chunkBytes: 3400 * 2, pauseMs: 4000 }; // a third of 40 kbit/s
  const { clock, pull } = await scene({ 'evil.io': image }, { 'evil.io': pace });
  const pulling = pull('evil.io');
  await clock.advance(60 * MINUTE_MS);
  assert.equal((await pulling).id, idOf(image));
});
