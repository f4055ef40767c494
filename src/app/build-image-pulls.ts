import type { RateLimit } from '../base/token-bucket.ts';
import { withApiTimeouts } from '../kubelet/api-client/api-timeouts.ts';
import { CredentialProvider } from '../kubelet/images/credential-provider.ts';
import type { ImageDeps } from '../kubelet/images/ensure-image.ts';
import type { VerificationPolicy } from '../kubelet/images/image-access.ts';
import { type NodeLoginSettings, NodeLogins } from '../kubelet/images/node-logins.ts';
import { PullBackoff } from '../kubelet/images/pull-backoff.ts';
import { pullCredentials } from '../kubelet/images/pull-credentials.ts';
import type { PulledImage } from '../kubelet/images/pull-image.ts';
import { PullRateLimiter } from '../kubelet/images/pull-rate.ts';
import { PullRecords } from '../kubelet/images/pull-records.ts';
import { SharedPulls } from '../kubelet/images/shared-pulls.ts';
import type { PullRecordCounts } from '../kubelet/metrics/pull-record-metrics.ts';
import type { PodTokens } from '../kubelet/tokens/pod-tokens.ts';
import type { AgentParts } from './agent.ts';
import { type ProviderPaths, readCredentialProviders } from './config/credential-provider-config.ts';

export interface ImagePullSettings extends Omit<NodeLoginSettings, 'rootDir'> {
  readonly rate: RateLimit;
  /** Which present images a pod needs credentials for; absent: none. */
  readonly verification: VerificationPolicy | undefined;
  /** Credential provider plugins; absent: none. */
  readonly providers?: ProviderPaths | undefined;
  /** The environment of credential provider plugins; absent: empty. */
  readonly providerEnv?: Readonly<Record<string, string | undefined>> | undefined;
  /** The feature gate KubeletServiceAccountTokenForCredentialProviders; absent: on. */
  readonly serviceAccountTokens?: boolean | undefined;
}

/** The state that all image pulls of the node share. */
export interface ImagePulls {
  readonly imageDeps: ImageDeps;
  /** Prunes the pull records of removed images; `imageIds` are those that are left. Never rejects. */
  readonly onImagesCollected: (imageIds: readonly string[], beganMs: number) => Promise<void>;
  onPodGone(uid: string): void;
  /** The number of records on disk; `undefined` if they cannot be read. */
  recordCounts(): Promise<PullRecordCounts | undefined>;
}

/** Rejects with a `ProviderConfigError`. */
export async function buildImagePulls(parts: AgentParts, tokens: PodTokens, life: AbortSignal): Promise<ImagePulls> {
  const { host, cri, settings, log } = parts;
  const { clock, fs } = host;
  const { images } = cri;
  const { rootDir } = settings;
  const { rate, verification: policy, workingDir, homeDir } = settings.imagePulls;
  const providers = await buildCredentialProviders(parts, tokens, life);
  const nodeLogins = new NodeLogins({ fs, clock, log, settings: { rootDir, workingDir, homeDir } });
  const records = new PullRecords({ fs, clock, log, images, settings }, life);
  const backoff = new PullBackoff(clock);
  return {
    imageDeps: {
      clock,
      images,
      pulls: new SharedPulls<PulledImage>(settings),
      backoff,
      rate: new PullRateLimiter(rate, clock),
      credentials: (repository, request, signal) =>
        pullCredentials(repository, request, { nodeLogins, providers }, signal),
      verification: policy && { policy, records },
    },
    onImagesCollected: (imageIds, beganMs) => (policy ? records.prune(new Set(imageIds), beganMs) : Promise.resolve()),
    onPodGone: (uid) => backoff.forget(uid),
    recordCounts: () => records.counts(),
  };
}

async function buildCredentialProviders(
  { host, settings, log, apiServer }: AgentParts,
  tokens: PodTokens,
  life: AbortSignal,
): Promise<readonly CredentialProvider[]> {
  const { clock, random, fs, processes } = host;
  const { providers: paths, providerEnv = {}, serviceAccountTokens = true } = settings.imagePulls;
  if (!paths) return [];
  const support = apiServer ? 'available' : 'standalone';
  const specs = await readCredentialProviders(paths, fs, providerEnv, serviceAccountTokens ? support : 'disabled');
  const accounts = apiServer && { api: withApiTimeouts(apiServer, { clock, random }), tokens };
  return specs.map((spec) => new CredentialProvider(spec, { processes, clock, log, accounts }, life));
}
