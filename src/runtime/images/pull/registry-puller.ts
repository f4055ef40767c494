import { errorText } from '../../../base/error-text.ts';
import { type ImageName, ImageNameError, parseImageName } from '../../../base/image-name.ts';
import type { Log } from '../../../base/log.ts';
import type { ProxyEnvironment } from '../../../base/proxy-for.ts';
import { CriError } from '../../../cri/cri-error.ts';
import type { AuthConfig } from '../../../cri/generated/runtime-v1.ts';
import type { Clock } from '../../../host/clock.ts';
import type { FileSystem } from '../../../host/file-system.ts';
import type { Network } from '../../../host/network.ts';
import type { RuntimeSettings } from '../../settings/runtime-settings.ts';
import type { ImageIngest } from '../image-ingest.ts';
import type { ImagePuller, LayerState } from '../image-puller.ts';
import type { StoredImage } from '../image-store.ts';
import { parseObject } from '../json-fields.ts';
import { choosePlatform, type Descriptor, parsePlatform, platformsText } from '../manifest.ts';
import { platformRank, platformText } from '../platform.ts';
import { HostClient } from './host-client.ts';
import { LayerTransfer } from './layer-transfer.ts';
import { AllHostsFailedError } from './mirror-failover.ts';
import type { PullTracker } from './pull-tracker.ts';
import { loadRegistryHosts } from './registry-hosts.ts';
import { type FetchedManifest, RepositoryFetcher } from './repository-fetcher.ts';
import { SharedPulls } from './shared-pulls.ts';

export interface PullerDeps {
  readonly network: Pick<Network, 'lookup' | 'pool'>;
  readonly fs: Pick<FileSystem, 'stat' | 'readText' | 'readDirectory'>;
  readonly clock: Clock;
  readonly ingest: ImageIngest;
  /** Go's name: `amd64`. */
  readonly architecture: string;
  readonly settings: Pick<RuntimeSettings, 'registryConfigDirs'>;
  /** The proxy variables of the process. Not part of the settings, because they may hold a password. */
  readonly env: ProxyEnvironment;
  readonly log: Log;
}

/** Limit for nested indexes. */
const MAX_DEPTH = 8;

const CONFIG_TYPES = ['application/vnd.oci.image.config.v1+json', 'application/vnd.docker.container.image.v1+json'];

const LAYER_TYPE = new RegExp(
  [
    '^application/vnd\\.oci\\.image\\.layer\\.(nondistributable\\.)?v1\\.tar(\\+gzip|\\+zstd)?$',
    '^application/vnd\\.docker\\.image\\.rootfs\\.(foreign\\.)?diff\\.tar(\\.gzip|\\.zstd)?$',
  ].join('|'),
);

/** Pulls from registries of the OCI distribution specification. */
export function createRegistryPuller(deps: PullerDeps): ImagePuller {
  const pulls = new SharedPulls();
  return {
    async pull(reference, auth, signal, watch) {
      const name = parseName(reference);
      const whole = fullName(name);
      const key = JSON.stringify([whole, auth]);
      try {
        return await pulls.join(key, (tracker, until) => pull(deps, name, auth, tracker, until), signal, watch);
      } catch (error) {
        signal.throwIfAborted();
        if (error instanceof CriError) throw error;
        const code = error instanceof AllHostsFailedError && error.isNotFound ? 'NotFound' : 'Unknown'; // as containerd
        throw new CriError(code, `failed to pull image "${whole}": ${errorText(error)}`, { cause: error });
      }
    },
  };
}

async function pull(
  { network, fs, clock, ingest, architecture, settings, env, log }: PullerDeps,
  name: ImageName,
  auth: AuthConfig | undefined,
  tracker: PullTracker,
  signal: AbortSignal,
): Promise<StoredImage> {
  const hosts = await loadRegistryHosts(fs, settings.registryConfigDirs, name.domain);
  using pool = network.pool();
  const transport = { lookup: network.lookup.bind(network), pool, clock, env, pullSignal: signal };
  const repository = { registry: name.domain, repository: name.path, auth };
  const clients = hosts.map((host) => new HostClient({ transport, host, ...repository }));
  const source = new RepositoryFetcher(clients, clock);
  const { named, image } = await resolveImage(source, name, architecture, signal);
  const layers = image.layers.map(({ digest, size: sizeBytes }) => ({ digest, sizeBytes }));
  tracker.resolved({ digest: named.digest, source: named.source, layers });
  const config = await source.config(image.config, signal);
  if (!image.isPlatformKnown) checkPlatform(config, architecture);
  return await ingest.ingest(
    {
      references: [fullName(name), `${name.domain}/${name.path}@${named.digest}`],
      config,
      layers: image.layers.map((layer) => {
        const report = (state: LayerState) => tracker.layer(layer.digest, state);
        return new LayerTransfer(layer, { registry: name.domain, source, clock, log, report });
      }),
      sizeBytes: image.layers.reduce((sum, layer) => sum + layer.size, image.config.size + image.size),
    },
    signal,
  );
}

interface ResolvedImage {
  readonly config: Descriptor;
  readonly layers: readonly Descriptor[];
  /** Size of the manifest. */
  readonly size: number;
  /**
   * Whether the manifest was requested directly or its platform matched; if not, the configuration's platform must be
   * checked.
   */
  readonly isPlatformKnown: boolean;
}

/** Resolves the name, and through indexes the image for this machine. */
async function resolveImage(
  source: RepositoryFetcher,
  { tag = 'latest', digest }: ImageName,
  architecture: string,
  signal: AbortSignal,
): Promise<{ readonly named: FetchedManifest; readonly image: ResolvedImage }> {
  const named = await (digest === undefined ? source.resolve(tag, signal) : source.manifest({ digest }, signal));
  let fetched = named;
  let isPlatformKnown = true;
  for (let depth = 1; fetched.manifest.kind === 'index'; depth++) {
    if (depth > MAX_DEPTH) throw new SyntaxError(`more than ${MAX_DEPTH} nested indexes`);
    const { manifests } = fetched.manifest;
    const chosen = choosePlatform(manifests, architecture);
    if (!chosen) throw new SyntaxError(`no image for linux/${architecture}, only for ${platformsText(manifests)}`);
    isPlatformKnown = chosen.platform !== undefined;
    fetched = await source.manifest(chosen, signal);
  }
  const { config, layers } = fetched.manifest;
  const unsupported =
    unsupportedConfigReason(config) ?? layers.map(unsupportedLayerReason).find((each) => each !== undefined);
  if (unsupported !== undefined) throw new SyntaxError(unsupported);
  return { named, image: { config, layers, size: fetched.size, isPlatformKnown } };
}

function checkPlatform(config: Uint8Array, architecture: string): void {
  const platform = parsePlatform(parseObject(config, 'configuration'));
  if (platformRank(platform, architecture) !== undefined) return;
  throw new SyntaxError(`no image for linux/${architecture}, only for ${platformText(platform)}`);
}

function parseName(image: string): ImageName {
  try {
    return parseImageName(image);
  } catch (error) {
    if (!(error instanceof ImageNameError)) throw error;
    throw new CriError('InvalidArgument', `image.image: ${error.message}`, { cause: error });
  }
}

function fullName({ domain, path, tag, digest }: ImageName): string {
  return `${domain}/${path}${digest === undefined ? `:${tag}` : `@${digest}`}`;
}

/** Returns why a container cannot use a configuration of this media type, or `undefined`. */
function unsupportedConfigReason({ mediaType }: Descriptor): string | undefined {
  if (CONFIG_TYPES.includes(mediaType)) return undefined;
  return `not an image of a container: its configuration has the media type ${JSON.stringify(mediaType)}`;
}

function unsupportedLayerReason({ digest, mediaType }: Descriptor): string | undefined {
  if (LAYER_TYPE.test(mediaType)) return undefined;
  if (mediaType.includes('+encrypted')) return `layer ${digest} is encrypted, which is not supported`;
  return `layer ${digest} has the media type ${JSON.stringify(mediaType)}, which is not a layer of a file system`;
}
