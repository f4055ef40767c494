import type { Log } from '../base/log.ts';
import { runAllOrAbort } from '../base/run-all-or-abort.ts';
import type { UnhandledErrors } from '../base/unhandled-errors.ts';
import type { RuntimeService } from '../cri/services.ts';
import type { Host } from '../host/host.ts';
import type { TcpAddress } from '../host/tcp-server.ts';
import type { TlsVersion } from '../host/tls-server.ts';
import type { ApiReviews } from '../kubelet/api-client/api-reviews.ts';
import type { ServingCertificate } from '../kubelet/certificates/serving-certificate.ts';
import type { AgentView } from '../kubelet/explain/agent-view.ts';
import { KUBERNETES_VERSION } from '../kubelet/node/status/kubernetes-version.ts';
import { type AuthenticationSettings, createAuthenticate } from '../kubelet/server/authenticate.ts';
import { type AuthorizationSettings, createAuthorize } from '../kubelet/server/authorize.ts';
import type { HealthChecks } from '../kubelet/server/healthz.ts';
import { createKubeletApi, createReadOnlyApi } from '../kubelet/server/kubelet-api.ts';
import { type KubeletApiAddress, serveKubeletApi } from '../kubelet/server/serve-kubelet-api.ts';
import { serveReadOnlyApi } from '../kubelet/server/serve-read-only.ts';
import type { ServedMetrics } from '../kubelet/server/served-metrics.ts';
import type { NodeStatistics } from '../kubelet/stats/stats-source.ts';
import { EMBEDDED } from './config/embedded-endpoint.ts';
import type { KubeletSettings } from './config/load-config.ts';
import { type DebuggedProcess, type DebugSettings, debugDeps, debugSettings } from './debug-handlers.ts';

const CONFIGURATION_VERSION = 'kubelet.config.k8s.io/v1beta1';
/** The timeout of a TokenReview or SubjectAccessReview. */
const REVIEW_MS = 10_000;

const TLS_VERSIONS: Readonly<Record<string, TlsVersion>> = {
  VersionTLS10: 'TLSv1',
  VersionTLS11: 'TLSv1.1',
  VersionTLS12: 'TLSv1.2',
  VersionTLS13: 'TLSv1.3',
};

export interface KubeletServerSettings {
  /** Absent: `enableServer` is off. */
  readonly address?: KubeletApiAddress | undefined;
  /** `readOnlyPort`; absent: 0. */
  readonly readOnly?: TcpAddress | undefined;
  readonly authentication: AuthenticationSettings;
  readonly authorization: AuthorizationSettings;
  /** The feature gate PodLogsQuerySplitStreams. */
  readonly splitStreams: boolean;
  /** The feature gate ExtendWebSocketsToKubelet. */
  readonly tunnels: boolean;
  /** The runtime may speak only SPDY; the embedded one speaks all protocols. */
  readonly translatesStreams: boolean;
  readonly debug: DebugSettings;
  /** The content of `/configz`. */
  readonly configuration: unknown;
}

export interface KubeletServerParts {
  readonly host: Pick<Host, 'network' | 'fs' | 'clock' | 'processes' | 'profiler'>;
  readonly log: Log;
  readonly unhandled: UnhandledErrors;
  readonly settings: KubeletServerSettings;
  readonly view: AgentView;
  readonly runtime: Pick<RuntimeService, 'exec' | 'attach' | 'portForward' | 'execSync' | 'checkpointContainer'>;
  readonly process: DebuggedProcess;
  readonly stats: NodeStatistics;
  readonly metrics: ServedMetrics;
  /** Absent: only the read-only API is served. */
  readonly certificate?: ServingCertificate | undefined;
  /** Authenticates and authorizes clients; absent without an API server. */
  readonly reviews?: ApiReviews | undefined;
  /** Why the sync loop is unhealthy; `undefined` while it is healthy. */
  readonly syncLoopUnhealthyReason: () => string | undefined;
  /** Why device plugins cannot register; `undefined` while they can. */
  readonly devicePluginUnhealthyReason: () => string | undefined;
  /** Called with the port once the server listens. */
  readonly onListening?: ((port: number) => void) | undefined;
}

/** The slice of kubelet's configuration that its server works with. */
export function kubeletServerSettings(settings: KubeletSettings): KubeletServerSettings {
  const { config, parsed, featureGates } = settings;
  const { authentication, authorization, tlsMinVersion = '', tlsCipherSuites, tlsCurvePreferences } = config;
  const { ms } = parsed;
  return {
    address: config.enableServer
      ? {
          address: config.address,
          port: config.port,
          clientCaFile: authentication.x509.clientCAFile || undefined,
          minVersion: TLS_VERSIONS[tlsMinVersion],
          cipherSuites: tlsCipherSuites,
          curves: tlsCurvePreferences,
        }
      : undefined,
    readOnly: config.readOnlyPort ? { host: config.address, port: config.readOnlyPort } : undefined,
    authentication: {
      anonymous: authentication.anonymous.enabled,
      webhookCacheTtlMs: authentication.webhook.enabled ? ms['authentication.webhook.cacheTTL'] : undefined,
    },
    authorization:
      authorization.mode === 'AlwaysAllow'
        ? { mode: 'AlwaysAllow' }
        : {
            mode: 'Webhook',
            allowedTtlMs: ms['authorization.webhook.cacheAuthorizedTTL'],
            refusedTtlMs: ms['authorization.webhook.cacheUnauthorizedTTL'],
          },
    splitStreams: featureGates.get('PodLogsQuerySplitStreams') ?? false,
    tunnels: featureGates.get('ExtendWebSocketsToKubelet') ?? true,
    translatesStreams: config.containerRuntimeEndpoint !== EMBEDDED,
    debug: debugSettings(settings),
    configuration: { kind: 'KubeletConfiguration', apiVersion: CONFIGURATION_VERSION, ...config },
  };
}

/** Creates kubelet's servers. `run` serves until the signal aborts and rejects if one of them cannot listen. */
export function createKubeletServer(parts: KubeletServerParts): { run(signal: AbortSignal): Promise<void> } {
  const { host, log, unhandled, settings, view, runtime, stats, reviews, certificate, onListening } = parts;
  const { clock, fs, network } = host;
  const { authentication, authorization, splitStreams, tunnels, translatesStreams, debug, configuration } = settings;
  const reviewDeps = { clock, reviews, deadline: () => clock.deadline(REVIEW_MS) };
  const checks: HealthChecks = new Map([
    ['ping', healthy],
    ['log', healthy],
    ['syncloop', parts.syncLoopUnhealthyReason],
    ['device-plugin', parts.devicePluginUnhealthyReason],
    ['parts', () => unhandled.failedParts()],
    ['unhandled-errors', () => unhandled.recentError()],
  ]);
  const api = {
    view,
    runtime,
    stats,
    fs,
    clock,
    network,
    log,
    metrics: parts.metrics,
    splitStreams,
    tunnels,
    translatesStreams,
    debugging: debug.handlers,
    debug: debugDeps(debug, { ...parts, kubernetesVersion: KUBERNETES_VERSION }),
    configuration,
    checks,
    authenticate: createAuthenticate(authentication, reviewDeps),
    authorize: createAuthorize(authorization, { ...reviewDeps, nodeName: view.nodeName }),
  };
  const { address, readOnly } = settings;
  const serveTls = async (signal: AbortSignal): Promise<void> => {
    if (!address || !certificate) return;
    const serving = { network, fs, log, certificate, ...(onListening && { onListening }) };
    await serveKubeletApi(address, createKubeletApi(api), serving, signal);
  };
  const serveReadOnly = async (signal: AbortSignal): Promise<void> => {
    if (readOnly) await serveReadOnlyApi(readOnly, createReadOnlyApi(api), { network, log }, signal);
  };
  return {
    run: async (signal) => {
      await runAllOrAbort([serveTls, serveReadOnly], signal);
    },
  };
}

/** Any response proves that the server works. */
function healthy(): undefined {}
