import type { Clock } from '../../../host/clock.ts';
import { digestOf, verifyDigest } from '../../storage/digest.ts';
import { type Descriptor, type Manifest, parseManifest } from '../manifest.ts';
import { MAX_SMALL_BYTES, smallBody } from './answer-body.ts';
import { SILENCE_MS } from './blob-bytes.ts';
import type { HostClient } from './host-client.ts';
import { HostTurns } from './host-turns.ts';
import { RegistryError, SilentError } from './registry-error.ts';
import type { Capability, Headers } from './registry-host.ts';
import { SilenceLimit } from './silence-limit.ts';

const ACCEPTED: Headers = [
  [
    'Accept',
    [
      'application/vnd.oci.image.index.v1+json',
      'application/vnd.oci.image.manifest.v1+json',
      'application/vnd.docker.distribution.manifest.list.v2+json',
      'application/vnd.docker.distribution.manifest.v2+json',
      '*/*',
    ].join(', '),
  ],
];

export interface FetchedManifest {
  readonly digest: string;
  readonly size: number;
  readonly manifest: Manifest;
  /** Who gave it: `https://mirror.example.com/v2`. */
  readonly source: string;
}

/** One repository of a registry, wherever it is to be had. */
export class RegistrySource {
  readonly #hosts: readonly HostClient[];
  readonly #clock: Clock;
  /** Those that did not answer, or sent something else, are asked behind the others for the rest of the pull. */
  readonly #behind = new Set<HostClient>();

  constructor(hosts: readonly HostClient[], clock: Clock) {
    this.#hosts = hosts;
    this.#clock = clock;
  }

  /** What a tag stands for. Whatever a registry says of its digest, it is that of what came. */
  resolve(tag: string, signal: AbortSignal): Promise<FetchedManifest> {
    return this.#small(['pull', 'resolve'], `manifests/${tag}`, signal, parsed);
  }

  manifest(named: { readonly digest: string; readonly size?: number }, signal: AbortSignal): Promise<FetchedManifest> {
    return this.#small(['pull'], `manifests/${named.digest}`, signal, (data, host) => {
      verifySize(data, named);
      verifyDigest(data, named.digest, 'manifest');
      return { ...parsed(data, host), digest: named.digest };
    });
  }

  config(named: Descriptor, signal: AbortSignal): Promise<Uint8Array> {
    if (named.size > MAX_SMALL_BYTES) {
      throw new SyntaxError(`configuration ${named.digest} has more than ${MAX_SMALL_BYTES} bytes`);
    }
    return this.#small(['pull'], `blobs/${named.digest}`, signal, (data) => {
      verifySize(data, named);
      verifyDigest(data, named.digest, 'configuration');
      return data;
    });
  }

  /** Who may give a blob, but for these. */
  blobTurns(without: ReadonlySet<HostClient>): HostTurns {
    return this.#turns(['pull'], without);
  }

  /** Whether anybody else may. */
  hasOthers(without: ReadonlySet<HostClient>): boolean {
    return this.#able(['pull'], without).length > 0;
  }

  putBehind(host: HostClient): void {
    this.#behind.add(host);
  }

  async #small<T>(
    needed: readonly Capability[],
    path: string,
    signal: AbortSignal,
    taken: (data: Uint8Array, host: HostClient) => T,
  ): Promise<T> {
    const turns = this.#turns(needed);
    for (;;) {
      const { host } = turns;
      try {
        return taken(await this.#fetched(host, path, signal), host);
      } catch (error) {
        signal.throwIfAborted();
        await turns.failed(error, signal);
      }
    }
  }

  async #fetched(host: HostClient, path: string, signal: AbortSignal): Promise<Uint8Array> {
    using silence = new SilenceLimit(this.#clock, SILENCE_MS);
    try {
      return await smallBody(await host.get(path, ACCEPTED, AbortSignal.any([signal, silence.over])));
    } catch (error) {
      if (!silence.over.aborted || signal.aborted) throw error;
      throw new SilentError(`${path} did not come in ${SILENCE_MS / 60_000} minutes`, { cause: error });
    }
  }

  #turns(needed: readonly Capability[], without: ReadonlySet<HostClient> = new Set()): HostTurns {
    return new HostTurns(this.#able(needed, without), this.#behind, this.#clock);
  }

  #able(needed: readonly Capability[], without: ReadonlySet<HostClient>): readonly HostClient[] {
    return this.#hosts.filter(
      (client) => !without.has(client) && needed.every((each) => client.host.capabilities.has(each)),
    );
  }
}

function parsed(data: Uint8Array, { place: source }: HostClient): FetchedManifest {
  return { digest: digestOf(data), size: data.length, manifest: parseManifest(data), source };
}

function verifySize(data: Uint8Array, { digest, size }: { readonly digest: string; readonly size?: number }): void {
  if (size === undefined || size === data.length) return;
  throw new RegistryError(0, `${digest} has ${data.length} bytes, and ${size} in its descriptor`);
}
