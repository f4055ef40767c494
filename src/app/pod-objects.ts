import { boundApiServer } from '../kubelet/cluster/bounded-api-server.ts';
import { ClusterObjects } from '../kubelet/objects/cluster-objects.ts';
import { ManifestObjects } from '../kubelet/objects/manifest-objects.ts';
import type { PodObjects } from '../kubelet/objects/pod-objects.ts';
import { Services } from '../kubelet/objects/services.ts';
import type { SourceName } from '../kubelet/sources/pod-source.ts';
import type { SourceObjects } from '../kubelet/sources/source-objects.ts';
import type { AgentParts } from './agent.ts';

/** Where pods find what they refer to: at the API server, or without one in the manifests beside them. */
export interface AgentObjects {
  readonly objects: PodObjects;
  /** Absent without an API server. */
  readonly services: Services | undefined;
  run(signal: AbortSignal): Promise<void>;
  /** A source has told which objects stand beside its pods. Comes before the pods themselves. */
  told(source: SourceName, objects: SourceObjects): void;
}

export function createAgentObjects(
  { apiServer, host, log }: AgentParts,
  changed: (uid: string) => void,
  life: AbortSignal,
): AgentObjects {
  if (apiServer) {
    const api = boundApiServer(apiServer, host);
    const deps = { ...host, api, log, changed };
    const services = new Services(deps);
    return { objects: new ClusterObjects(deps, life), services, run: (signal) => services.run(signal), told() {} };
  }
  const objects = new ManifestObjects({ changed });
  const told = (source: SourceName, all: SourceObjects): void => objects.set(source, all);
  return { objects, services: undefined, run: async () => undefined, told };
}
