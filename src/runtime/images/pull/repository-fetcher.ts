import type { Clock } from '../../../host/clock.ts';
import { digestOf, verifyDigest } from '../../storage/digest.ts';
import { type Descriptor, type Manifest, parseManifest } from '../manifest.ts';
import { IDLE_TIMEOUT_MS } from './fetch-blob.ts';
import type { HostClient } from './host-client.ts';
import { IdleTimeout } from './idle-timeout.ts';
import { MirrorFailover } from './mirror-failover.ts';
import { IdleTimeoutError, RegistryError } from './registry-error.ts';
import type { Capability, Headers } from './registry-host.ts';
import { MAX_SMALL_BYTES, readSmallBody } from './response-body.ts';

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
  /** The host that sent it: `https://mirror.example.com/v2`. */
  readonly source: string;
}

/** Fetches from one repository of a registry, through all of its hosts. */
export class RepositoryFetcher {
  readonly #hosts: readonly HostClient[];
  readonly #clock: Clock;
  /** Hosts that did not respond or sent invalid content are tried last for the rest of the pull. */
  readonly #deprioritized = new Set<HostClient>();

  constructor(hosts: readonly HostClient[], clock: Clock) {
    this.#hosts = hosts;
    this.#clock = clock;
  }

  /** Resolves a tag. The digest is computed from the content, whatever the registry says. */
  resolve(tag: string, signal: AbortSignal): Promise<FetchedManifest> {
    return this.#fetchSmall(['pull', 'resolve'], `manifests/${tag}`, signal, parseFetched);
  }

  manifest(named: { readonly digest: string; readonly size?: number }, signal: AbortSignal): Promise<FetchedManifest> {
    return this.#fetchSmall(['pull'], `manifests/${named.digest}`, signal, (data, host) => {
      verifySize(data, named);
      verifyDigest(data, named.digest, 'manifest');
      return { ...parseFetched(data, host), digest: named.digest };
    });
  }

  config(named: Descriptor, signal: AbortSignal): Promise<Uint8Array> {
    if (named.size > MAX_SMALL_BYTES) {
      throw new SyntaxError(`configuration ${named.digest} has more than ${MAX_SMALL_BYTES} bytes`);
    }
    return this.#fetchSmall(['pull'], `blobs/${named.digest}`, signal, (data) => {
      verifySize(data, named);
      verifyDigest(data, named.digest, 'configuration');
      return data;
    });
  }

  /** The hosts that may send a blob, except these. */
  blobFailover(without: ReadonlySet<HostClient>): MirrorFailover {
    return this.#failover(['pull'], without);
  }

  /** Whether any other host may send a blob. */
  hasOthers(without: ReadonlySet<HostClient>): boolean {
    return this.#capableHosts(['pull'], without).length > 0;
  }

  deprioritize(host: HostClient): void {
    this.#deprioritized.add(host);
  }

  async #fetchSmall<T>(
    needed: readonly Capability[],
    path: string,
    signal: AbortSignal,
    accept: (data: Uint8Array, host: HostClient) => T,
  ): Promise<T> {
    const failover = this.#failover(needed);
    for (;;) {
      const { host } = failover;
      try {
        return accept(await this.#fetchOnce(host, path, signal), host);
      } catch (error) {
        signal.throwIfAborted();
        await failover.failOver(error, signal);
      }
    }
  }

  async #fetchOnce(host: HostClient, path: string, signal: AbortSignal): Promise<Uint8Array> {
    using idle = new IdleTimeout(this.#clock, IDLE_TIMEOUT_MS);
    try {
      return await readSmallBody(await host.get(path, ACCEPTED, AbortSignal.any([signal, idle.signal])));
    } catch (error) {
      if (!idle.signal.aborted || signal.aborted) throw error;
      throw new IdleTimeoutError(`${path} was not received in ${IDLE_TIMEOUT_MS / 60_000} minutes`, { cause: error });
    }
  }

  #failover(needed: readonly Capability[], without: ReadonlySet<HostClient> = new Set()): MirrorFailover {
    return new MirrorFailover(this.#capableHosts(needed, without), this.#deprioritized, this.#clock);
  }

  #capableHosts(needed: readonly Capability[], without: ReadonlySet<HostClient>): readonly HostClient[] {
    return this.#hosts.filter(
      (client) => !without.has(client) && needed.every((each) => client.host.capabilities.has(each)),
    );
  }
}

function parseFetched(data: Uint8Array, { url: source }: HostClient): FetchedManifest {
  return { digest: digestOf(data), size: data.length, manifest: parseManifest(data), source };
}

function verifySize(data: Uint8Array, { digest, size }: { readonly digest: string; readonly size?: number }): void {
  if (size === undefined || size === data.length) return;
  throw new RegistryError(0, `${digest} has ${data.length} bytes, expected ${size}`);
}
