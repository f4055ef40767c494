import type { Node } from '../api/generated/core-v1.ts';
import { assertNever } from '../base/assert-never.ts';
import { boundApiServer } from '../kubelet/api-client/bounded-api-server.ts';
import { ClusterObjects, type ClusterObjectsDeps } from '../kubelet/objects/cluster-objects.ts';
import { type ChangeDetection, FetchedObjects, objectTtlMs } from '../kubelet/objects/fetched-objects.ts';
import { ManifestObjects } from '../kubelet/objects/manifest-objects.ts';
import type { PodObjects } from '../kubelet/objects/pod-objects.ts';
import { Services } from '../kubelet/objects/services.ts';
import type { SourceName } from '../kubelet/sources/pod-source.ts';
import type { SourceObjects } from '../kubelet/sources/source-objects.ts';
import { NO_TOKENS, type PodTokens } from '../kubelet/tokens/pod-tokens.ts';
import { ServiceAccountTokens } from '../kubelet/tokens/service-account-tokens.ts';
import type { AgentParts } from './agent.ts';

/** Where pods find what they refer to: at the API server, or without one in the manifests beside them. */
export interface AgentObjects {
  readonly objects: PodObjects;
  readonly tokens: PodTokens;
  /** Absent without an API server. */
  readonly services: Services | undefined;
  run(signal: AbortSignal): Promise<void>;
  /** A source has told which objects stand beside its pods. Comes before the pods themselves. */
  told(source: SourceName, objects: SourceObjects): void;
}

export interface AgentObjectsListener {
  /** What a pod refers to is another than before. */
  changed(uid: string): void;
  /** As the API server was last seen to have this node; absent: nobody looks. */
  node?(): Node | undefined;
}

export function createAgentObjects(
  { apiServer, host, log, settings }: AgentParts,
  listener: AgentObjectsListener,
  life: AbortSignal,
): AgentObjects {
  if (apiServer) {
    const deps = { ...host, ...listener, api: boundApiServer(apiServer, host), log };
    const services = new Services(deps);
    const tokens = new ServiceAccountTokens(deps, life);
    const objects = clusterObjects(settings.changeDetection ?? 'Watch', deps, life);
    return { objects, tokens, services, run: (signal) => services.run(signal), told() {} };
  }
  const objects = new ManifestObjects(listener);
  const told = (source: SourceName, all: SourceObjects): void => objects.set(source, all);
  return { objects, tokens: NO_TOKENS, services: undefined, run: async () => undefined, told };
}

function clusterObjects(
  how: ChangeDetection,
  deps: ClusterObjectsDeps & AgentObjectsListener,
  life: AbortSignal,
): PodObjects {
  switch (how) {
    case 'Watch':
      return new ClusterObjects(deps, life);
    case 'Cache':
      return new FetchedObjects({ ...deps, ttlMs: () => objectTtlMs(deps.node?.()) });
    case 'Get':
      return new FetchedObjects({ ...deps, ttlMs: () => 0 });
    default:
      return assertNever(how);
  }
}
