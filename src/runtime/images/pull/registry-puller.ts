import { type ImageName, ImageNameError, parseImageName } from '../../../base/image-name.ts';
import type { Log } from '../../../base/log.ts';
import type { ProxyEnvironment } from '../../../base/proxy-for.ts';
import { textOf } from '../../../base/text-of.ts';
import { CriError } from '../../../cri/cri-error.ts';
import type { AuthConfig } from '../../../cri/generated/runtime-v1.ts';
import type { Clock } from '../../../host/clock.ts';
import type { FileSystem } from '../../../host/file-system.ts';
import type { Network } from '../../../host/network.ts';
import type { RuntimeSettings } from '../../settings/runtime-settings.ts';
import type { ImageIngest } from '../image-ingest.ts';
import type { ImagePuller } from '../image-puller.ts';
import type { StoredImage } from '../image-store.ts';
import { parseObject } from '../json-fields.ts';
import { choosePlatform, type Descriptor, parsePlatform, platformsOf } from '../manifest.ts';
import { platformRank, platformText } from '../platform.ts';
import { HostClient } from './host-client.ts';
import { NoHostError } from './host-turns.ts';
import { LayerTransfer } from './layer-transfer.ts';
import { configFault, layerFault } from './media-types.ts';
import type { PullStage } from './pull-stage.ts';
import { registryHosts } from './registry-hosts.ts';
import { type FetchedManifest, RegistrySource } from './registry-source.ts';
import { SharedPulls } from './shared-pulls.ts';

export interface PullerDeps {
  readonly network: Pick<Network, 'lookup' | 'pool'>;
  readonly fs: Pick<FileSystem, 'stat' | 'readText' | 'readDirectory'>;
  readonly clock: Clock;
  readonly ingest: ImageIngest;
  /** As Go names it: `amd64`. */
  readonly architecture: string;
  readonly settings: Pick<RuntimeSettings, 'registryConfigDirs'>;
  /** Of the process: which proxies lead to registries. Not among the settings, for it may hold a password. */
  readonly env: ProxyEnvironment;
  readonly log: Log;
}

/** How many indexes may lead to each other. */
const MAX_DEPTH = 8;

/** Pulls from registries of the OCI distribution specification. */
export function createRegistryPuller(deps: PullerDeps): ImagePuller {
  const pulls = new SharedPulls();
  return {
    async pull(reference, auth, signal, watch) {
      const name = parsedName(reference);
      const whole = wholeName(name);
      const key = JSON.stringify([whole, auth]);
      try {
        return await pulls.join(key, (stage, until) => pull(deps, name, auth, stage, until), signal, watch);
      } catch (error) {
        signal.throwIfAborted();
        if (error instanceof CriError) throw error;
        const code = error instanceof NoHostError && error.isNotFound ? 'NotFound' : 'Unknown'; // as containerd
        throw new CriError(code, `failed to pull image "${whole}": ${textOf(error)}`, { cause: error });
      }
    },
  };
}

async function pull(
  { network, fs, clock, ingest, architecture, settings, env, log }: PullerDeps,
  name: ImageName,
  auth: AuthConfig | undefined,
  stage: PullStage,
  signal: AbortSignal,
): Promise<StoredImage> {
  const hosts = await registryHosts(fs, settings.registryConfigDirs, name.domain);
  using pool = network.pool();
  const wire = { lookup: network.lookup.bind(network), pool, clock, env, life: signal };
  const repository = { registry: name.domain, repository: name.path, auth };
  const clients = hosts.map((host) => new HostClient({ wire, host, ...repository }));
  const source = new RegistrySource(clients, clock);
  const { named, image } = await found(source, name, architecture, signal);
  const layers = image.layers.map(({ digest, size: sizeBytes }) => ({ digest, sizeBytes }));
  stage.resolved({ digest: named.digest, source: named.source, layers });
  const config = await source.config(image.config, signal);
  if (!image.isForUs) refuseOtherPlatform(config, architecture);
  return await ingest.ingest(
    {
      references: [wholeName(name), `${name.domain}/${name.path}@${named.digest}`],
      config,
      layers: image.layers.map(
        (layer) => new LayerTransfer(layer, { source, clock, log, tell: (state) => stage.layer(layer.digest, state) }),
      ),
      sizeBytes: image.layers.reduce((sum, layer) => sum + layer.size, image.config.size + image.size),
    },
    signal,
  );
}

interface FoundImage {
  readonly config: Descriptor;
  readonly layers: readonly Descriptor[];
  /** Of the manifest. */
  readonly size: number;
  /** Whether it was asked for as it is, or chosen for this machine; if not, its configuration says what it is for. */
  readonly isForUs: boolean;
}

/** What the name stands for, and of that the image for this machine. */
async function found(
  source: RegistrySource,
  { tag = 'latest', digest }: ImageName,
  architecture: string,
  signal: AbortSignal,
): Promise<{ readonly named: FetchedManifest; readonly image: FoundImage }> {
  const named = await (digest === undefined ? source.resolve(tag, signal) : source.manifest({ digest }, signal));
  let fetched = named;
  let isForUs = true;
  for (let depth = 1; fetched.manifest.kind === 'index'; depth++) {
    if (depth > MAX_DEPTH) throw new SyntaxError(`more than ${MAX_DEPTH} indexes that lead to each other`);
    const { manifests } = fetched.manifest;
    const chosen = choosePlatform(manifests, architecture);
    if (!chosen) throw new SyntaxError(`no image for linux/${architecture}, only for ${platformsOf(manifests)}`);
    isForUs = chosen.platform !== undefined;
    fetched = await source.manifest(chosen, signal);
  }
  const { config, layers } = fetched.manifest;
  const fault = configFault(config) ?? layers.map(layerFault).find((each) => each !== undefined);
  if (fault !== undefined) throw new SyntaxError(fault);
  return { named, image: { config, layers, size: fetched.size, isForUs } };
}

function refuseOtherPlatform(config: Uint8Array, architecture: string): void {
  const platform = parsePlatform(parseObject(config, 'configuration'));
  if (platformRank(platform, architecture) !== undefined) return;
  throw new SyntaxError(`no image for linux/${architecture}, only for ${platformText(platform)}`);
}

function parsedName(image: string): ImageName {
  try {
    return parseImageName(image);
  } catch (error) {
    if (!(error instanceof ImageNameError)) throw error;
    throw new CriError('InvalidArgument', `image.image: ${error.message}`, { cause: error });
  }
}

function wholeName({ domain, path, tag, digest }: ImageName): string {
  return `${domain}/${path}${digest === undefined ? `:${tag}` : `@${digest}`}`;
}
