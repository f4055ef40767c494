/** A registry on loopback that stalls in the middle of a response, exactly where the test sets it. */
import { createHash } from 'node:crypto';
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { gzipSync } from 'node:zlib';
import { goArchitecture } from '../../src/base/go/go-architecture.ts';
import { buildConfig, buildLayer } from '../../src/runtime/images/fake/image-archives.ts';
import { digestOf } from '../../src/runtime/storage/digest.ts';
import { MANIFEST_TYPE } from './registry-fixture.ts';

export interface ServedImage {
  readonly manifest: Buffer;
  readonly config: Buffer;
  /** Compressed, lowest first. */
  readonly layers: readonly Buffer[];
  readonly diffIds: readonly string[];
  /** The content of the file `name` in each layer. */
  readonly texts: readonly string[];
}

/** Where it stalls: after this many bytes of the response; 0 is before its first byte. */
export interface StallPoint {
  readonly what: 'manifest' | 'config' | number;
  readonly share: number;
}

/** Different numbers share no layer. */
export async function servedImage(number: number, layerCount: number): Promise<ServedImage> {
  const texts = Array.from({ length: layerCount }, (_, layer) => `image ${number}, layer ${layer}`);
  const plain = await Promise.all(
    texts.map((text, layer) =>
      buildLayer({ [`layer-${layer}`]: null, name: text, [`layer-${layer}/more`]: noise(`${number}-${layer}`) }),
    ),
  );
  const config = Buffer.from(buildConfig({ layers: plain, architecture: goArchitecture() }));
  const layers = plain.map((layer) => gzipSync(layer));
  const descriptor = (mediaType: string, data: Buffer) => ({
    mediaType,
    digest: digestOf(data),
    size: data.byteLength,
  });
  const manifest = Buffer.from(
    JSON.stringify({
      schemaVersion: 2,
      mediaType: MANIFEST_TYPE,
      config: descriptor('application/vnd.oci.image.config.v1+json', config),
      layers: layers.map((layer) => descriptor('application/vnd.oci.image.layer.v1.tar+gzip', layer)),
    }),
  );
  return { manifest, config, layers, diffIds: plain.map((layer) => digestOf(layer)), texts };
}

export class StallingRegistry {
  /** Digests of blobs in the order of their requests. */
  readonly asked: string[] = [];
  #image: ServedImage | undefined;
  #halt: StallPoint | undefined;
  #halted = Promise.withResolvers<void>();
  readonly #server = createServer((request, response) => this.#answer(request.url ?? '', request.method, response));

  static async start(): Promise<StallingRegistry> {
    const registry = new StallingRegistry();
    await new Promise<void>((resolve) => registry.#server.listen(0, '127.0.0.1', resolve));
    return registry;
  }

  get address(): string {
    return `127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  /** Resolves when it has stalled. */
  serve(image: ServedImage, halt?: StallPoint): Promise<void> {
    this.asked.length = 0;
    this.#image = image;
    this.#halt = halt;
    this.#halted = Promise.withResolvers();
    return this.#halted.promise;
  }

  async stop(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  #answer(url: string, method: string | undefined, response: ServerResponse): void {
    const image = this.#image;
    if (image === undefined || url === '/v2/') {
      response.end('{}');
      return;
    }
    const digest = /\/blobs\/(sha256:[0-9a-f]+)$/.exec(url)?.[1];
    if (digest === undefined) {
      response.setHeader('docker-content-digest', digestOf(image.manifest));
      response.setHeader('content-type', MANIFEST_TYPE);
      if (method === 'HEAD') response.setHeader('content-length', image.manifest.byteLength).end();
      else this.#send(response, image.manifest, 'manifest');
      return;
    }
    this.asked.push(digest);
    const layer = image.layers.findIndex((each) => digestOf(each) === digest);
    if (layer >= 0) this.#send(response, image.layers[layer] ?? Buffer.alloc(0), layer);
    else this.#send(response, image.config, 'config');
  }

  #send(response: ServerResponse, data: Buffer, what: StallPoint['what']): void {
    response.setHeader('content-length', data.byteLength);
    if (this.#halt?.what !== what) {
      response.end(data);
      return;
    }
    const part = data.subarray(0, Math.ceil(data.byteLength * this.#halt.share));
    if (part.byteLength > 0) response.write(part, () => this.#halted.resolve());
    else this.#halted.resolve();
  }
}

/** Text that gzip compresses little. */
function noise(seed: string): string {
  let text = seed;
  let block = createHash('sha512').update(seed);
  for (let index = 0; index < 600; index++) {
    const digest = block.digest('base64');
    text += digest;
    block = createHash('sha512').update(digest);
  }
  return text;
}
