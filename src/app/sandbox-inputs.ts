import type { Pod } from '../api/generated/core-v1.ts';
import { boundApiServer } from '../kubelet/api-client/bounded-api-server.ts';
import { followRuntimeClasses, RuntimeClasses, type RuntimeHandlers } from '../kubelet/objects/runtime-classes.ts';
import type { HandlerKnowledge, RuntimeFeatures } from '../kubelet/pleg/runtime-features.ts';
import type { SourceName } from '../kubelet/sources/pod-source.ts';
import type { SourceObjects } from '../kubelet/sources/source-objects.ts';
import type { StatusFeatures } from '../kubelet/status/pod-status-view.ts';
import { UserNamespaces } from '../kubelet/userns/user-namespaces.ts';
import type { PodWorkers } from '../kubelet/workers/pod-workers.ts';
import type { AgentParts, AgentSettings } from './agent.ts';
import type { AgentFacts } from './agent-facts.ts';

/** What the sandbox of a pod depends on besides the pod. */
export interface SandboxInputs {
  readonly runtimeHandlers: RuntimeClasses;
  readonly userNamespaces: UserNamespaces;
  /** Whether all that is mounted below a read-only mount of the pod can be read-only too. */
  recursiveReadOnly(pod: Pod, signal: AbortSignal): Promise<boolean>;
  /** The same as last known, and what else a status tells only where the node can do it. */
  statusFeatures(pod: Pod): StatusFeatures;
  /** A source has told which objects stand beside its pods. */
  told(source: SourceName, objects: SourceObjects): void;
  /** Keeps them up to date until the signal aborts. */
  run(signal: AbortSignal): Promise<void>;
}

export function createSandboxInputs(
  { host, settings, log, apiServer }: AgentParts,
  { runtimeFeatures: features }: AgentFacts,
  workers: () => PodWorkers,
  life: AbortSignal,
): SandboxInputs {
  const changed = (runtimeClass: string): void => {
    for (const worker of workers().all.values()) {
      if (worker.pod.spec.runtimeClassName === runtimeClass) worker.wake();
    }
  };
  const runtimeHandlers = new RuntimeClasses({ clock: host.clock, changed });
  const userNamespaces = new UserNamespaces({ ...host, features, settings }, life);
  const inputs = { runtimeHandlers, userNamespaces, ...handlerSupport(runtimeHandlers, features, settings) };
  if (apiServer) {
    const api = boundApiServer(apiServer, host);
    const run = (signal: AbortSignal): Promise<void> =>
      followRuntimeClasses(runtimeHandlers, { ...host, api, log }, signal);
    return { ...inputs, told() {}, run };
  }
  // Without an API server there are the classes of the manifests, and no others to wait for.
  runtimeHandlers.set('node', []);
  const told: SandboxInputs['told'] = (source, { runtimeClasses }) => runtimeHandlers.set(source, runtimeClasses);
  return { ...inputs, told, run: async () => {} };
}

function handlerSupport(
  handlers: RuntimeHandlers,
  features: RuntimeFeatures,
  { containerStopSignals = false }: AgentSettings,
): Pick<SandboxInputs, 'recursiveReadOnly' | 'statusFeatures'> {
  const canRecurse = (known: HandlerKnowledge): boolean => known !== 'unlisted' && known.recursiveReadOnlyMounts;
  return {
    async recursiveReadOnly(pod, signal) {
      const handler = handlers.knownHandlerOf(pod);
      return handler !== undefined && canRecurse(await features.ask(handler, signal));
    },
    statusFeatures(pod) {
      const handler = handlers.knownHandlerOf(pod);
      const recursiveReadOnly = handler !== undefined && canRecurse(features.known(handler));
      return { stopSignals: containerStopSignals, recursiveReadOnly };
    },
  };
}
