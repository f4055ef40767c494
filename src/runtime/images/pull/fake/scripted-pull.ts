import { silentLog } from '../../../../base/log.ts';
import type { ProxyEnvironment } from '../../../../base/proxy-for.ts';
import { AuthConfig } from '../../../../cri/generated/runtime-v1.ts';
import { createMemoryHost } from '../../../../host/fake/memory-host.ts';
import type { HttpPool, HttpRequest, HttpResponse } from '../../../../host/network.ts';
import { digestOf } from '../../../storage/digest.ts';
import type { IncomingImage } from '../../image-ingest.ts';
import type { ImagePuller, PullProgress } from '../../image-puller.ts';
import type { StoredImage } from '../../image-store.ts';
import { createRegistryPuller } from '../registry-puller.ts';

/** A registry's response to a request; `data` is the body. */
export type ScriptedAnswer = (
  request: HttpRequest,
  until: AbortSignal,
) => Partial<HttpResponse> & { readonly data?: Uint8Array };

const bytes = (text: string): Uint8Array => new TextEncoder().encode(text);
export const json = (value: unknown): Uint8Array => bytes(JSON.stringify(value));

export const LAYER = bytes('the bytes of a layer');
export const CONFIG = json({
  architecture: 'amd64',
  os: 'linux',
  rootfs: { type: 'layers', diff_ids: [digestOf('x')] },
});
const LAYER_TYPE = 'application/vnd.oci.image.layer.v1.tar';
export const describe = (data: Uint8Array, mediaType: string, more: object = {}): object => ({
  mediaType,
  digest: digestOf(data),
  size: data.length,
  ...more,
});
export const manifestOf = (layers: readonly object[], config: Uint8Array = CONFIG): Uint8Array =>
  json({ schemaVersion: 2, config: describe(config, 'application/vnd.oci.image.config.v1+json'), layers });
export const MANIFEST = manifestOf([describe(LAYER, LAYER_TYPE)]);
export const indexOf = (manifests: readonly object[]): Uint8Array => json({ schemaVersion: 2, manifests });

/** Returns a registry with the image `app:1` and the given tags. */
export function registryWith(
  tags: Readonly<Record<string, Uint8Array>> = {},
): (request: HttpRequest) => ReturnType<ScriptedAnswer> {
  const files: Record<string, Uint8Array> = {};
  for (const [tag, manifest] of Object.entries({ '1': MANIFEST, ...tags })) {
    files[`/v2/app/manifests/${tag}`] = manifest;
    files[`/v2/app/manifests/${digestOf(manifest)}`] = manifest;
  }
  for (const blob of [CONFIG, LAYER]) files[`/v2/app/blobs/${digestOf(blob)}`] = blob;
  return ({ path }) => {
    const data = files[path.replace(/\?.*$/, '')];
    return data
      ? { data }
      : { status: 404, data: json({ errors: [{ code: 'MANIFEST_UNKNOWN', message: 'unknown' }] }) };
  };
}

export interface ScriptedPull {
  readonly image: string;
  readonly answer: ScriptedAnswer;
  readonly auth?: Partial<AuthConfig>;
  /** Files below the configuration directory `/certs.d`. */
  readonly files?: Readonly<Record<string, string>>;
  readonly addresses?: Readonly<Record<string, readonly [string, ...string[]]>>;
  readonly env?: ProxyEnvironment;
}

export interface PullRecord {
  readonly image?: IncomingImage;
  readonly layers: readonly string[];
  readonly urls: readonly string[];
  readonly progress: readonly PullProgress[];
}

/** The environment of a puller; records all requests. */
export class PullWorld {
  readonly urls: string[] = [];
  readonly requests: HttpRequest[] = [];
  readonly progress: PullProgress[] = [];
  readonly layers: string[] = [];
  readonly host = createMemoryHost();
  readonly puller: ImagePuller;
  image: IncomingImage | undefined;
  openPools = 0;

  constructor({ answer, addresses = {}, env = {} }: Pick<ScriptedPull, 'answer' | 'addresses' | 'env'>) {
    const network = {
      lookup: async (name: string): Promise<readonly [string, ...string[]]> => addresses[name] ?? [name],
      pool: () => this.#pool(answer),
    };
    const ingest = { ingest: (incoming: IncomingImage, signal: AbortSignal) => this.#ingest(incoming, signal) };
    const { clock, fs } = this.host;
    const settings = { registryConfigDirs: ['/certs.d'] };
    const machine = { architecture: 'amd64', settings, env, log: silentLog };
    this.puller = createRegistryPuller({ network, fs, clock, ingest, ...machine });
  }

  #pool(answer: ScriptedAnswer): HttpPool {
    this.openPools++;
    return {
      request: async (request, until) => {
        const target = 'host' in request.target ? `${request.target.host}:${request.target.port}` : '';
        this.urls.push(`${request.scheme}://${target}${request.path}`);
        this.requests.push(request);
        const { data = new Uint8Array(), ...rest } = answer(request, until);
        const body = (async function* () {
          yield data;
        })();
        return { status: 200, headers: {}, body, ...rest };
      },
      [Symbol.dispose]: () => {
        this.openPools--;
      },
    };
  }

  async #ingest(incoming: IncomingImage, signal: AbortSignal): Promise<StoredImage> {
    for (const layer of incoming.layers) {
      this.layers.push(Buffer.concat(await Array.fromAsync(layer.open(signal))).toString());
    }
    this.image = incoming;
    return { id: 'sha256:1' } as StoredImage; // only passed on
  }
}

/** Pulls on virtual time until it ends. */
export async function pullScripted({ image, auth, files = {}, ...script }: ScriptedPull): Promise<PullRecord> {
  const world = new PullWorld(script);
  const { fs, clock } = world.host;
  for (const [path, text] of Object.entries(files)) {
    await fs.makeDirectory(`/certs.d/${path}`.replace(/\/[^/]*$/, ''));
    await fs.writeFile(`/certs.d/${path}`, text);
  }
  const given = auth === undefined ? undefined : AuthConfig.fromPartial(auth);
  const pulling = world.puller.pull(image, given, new AbortController().signal, (each) => world.progress.push(each));
  pulling.catch(() => {});
  await clock.advance(60 * 60_000);
  await pulling;
  const { layers, urls, progress } = world;
  return { ...(world.image ? { image: world.image } : {}), layers, urls, progress };
}
