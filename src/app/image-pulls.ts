import { boundApiServer } from '../kubelet/api-client/bounded-api-server.ts';
import { CredentialProvider } from '../kubelet/images/credential-provider.ts';
import type { ImageDeps } from '../kubelet/images/ensure-image.ts';
import type { VerificationPolicy } from '../kubelet/images/judge-present-image.ts';
import { type NodeLoginSettings, NodeLogins } from '../kubelet/images/node-logins.ts';
import { PullBackoff } from '../kubelet/images/pull-backoff.ts';
import { pullCredentials } from '../kubelet/images/pull-credentials.ts';
import type { PulledImage } from '../kubelet/images/pull-image.ts';
import { PullRate, type PullRateLimit } from '../kubelet/images/pull-rate.ts';
import { PullRecords } from '../kubelet/images/pull-records.ts';
import { SharedPulls } from '../kubelet/images/shared-pulls.ts';
import type { PodTokens } from '../kubelet/tokens/pod-tokens.ts';
import type { AgentParts } from './agent.ts';
import { type ProviderPaths, readCredentialProviders } from './config/credential-provider-config.ts';

export interface ImagePullSettings extends Omit<NodeLoginSettings, 'rootDir'> {
  readonly rate: PullRateLimit;
  /** Which images that are there a pod has to have credentials for; absent: it needs none for any. */
  readonly verification: VerificationPolicy | undefined;
  /** Programs that give out credentials; absent: there are none. */
  readonly providers?: ProviderPaths | undefined;
  /** The feature gate KubeletServiceAccountTokenForCredentialProviders; absent: on. */
  readonly serviceAccountTokens?: boolean | undefined;
}

export interface ImagePulls extends ImageDeps {
  /** Images were removed, and these are left: what is known of the others goes. Never rejects. */
  readonly collected: (imageIds: readonly string[], beganMs: number) => Promise<void>;
}

/** What all pulls of the node share. Rejects with a `ProviderConfigError`. */
export async function createImagePulls(parts: AgentParts, tokens: PodTokens, life: AbortSignal): Promise<ImagePulls> {
  const { host, cri, settings, log } = parts;
  const { clock } = host;
  const { rate, verification: policy, workingDir, homeDir } = settings.imagePulls;
  const providers = await createProviders(parts, tokens, life);
  const nodeLogins = new NodeLogins({ ...host, log, settings: { rootDir: settings.rootDir, workingDir, homeDir } });
  const records = new PullRecords({ ...host, log, images: cri.images, settings }, life);
  return {
    clock,
    images: cri.images,
    pulls: new SharedPulls<PulledImage>(settings),
    backoff: new PullBackoff(clock),
    rate: new PullRate(rate, clock),
    credentials: (repository, wish, signal) => pullCredentials(repository, wish, { nodeLogins, providers }, signal),
    verification: policy && { policy, records },
    collected: (imageIds, beganMs) => (policy ? records.prune(new Set(imageIds), beganMs) : Promise.resolve()),
  };
}

async function createProviders(
  { host, settings, log, apiServer }: AgentParts,
  tokens: PodTokens,
  life: AbortSignal,
): Promise<readonly CredentialProvider[]> {
  const { providers: paths, serviceAccountTokens = true } = settings.imagePulls;
  if (!paths) return [];
  const support = apiServer ? 'available' : 'standalone';
  const specs = await readCredentialProviders(paths, host.fs, process.env, serviceAccountTokens ? support : 'disabled');
  const accounts = apiServer && { api: boundApiServer(apiServer, host), tokens };
  return specs.map((spec) => new CredentialProvider(spec, { ...host, log, accounts }, life));
}
