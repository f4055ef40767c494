import type { Pod } from '../api/generated/core-v1.ts';
import type { RuntimeHandlers } from './objects/runtime-classes.ts';
import type { KnownHandlerFeatures, RuntimeFeatures } from './pleg/runtime-features.ts';
import type { StatusFeatures } from './status/pod-status-view.ts';

export interface PodHandlerFeaturesDeps {
  readonly handlers: Pick<RuntimeHandlers, 'cachedHandler'>;
  readonly features: Pick<RuntimeFeatures, 'refresh' | 'known'>;
  /** The feature gate ContainerStopSignals. */
  readonly stopSignals: boolean;
}

/** What the runtime handler of a pod supports. */
export class PodHandlerFeatures {
  readonly #deps: PodHandlerFeaturesDeps;

  constructor(deps: PodHandlerFeaturesDeps) {
    this.#deps = deps;
  }

  /** Whether mounts below a read-only mount of the pod can be read-only too. Asks the runtime if necessary. */
  async recursiveReadOnly(pod: Pod, signal: AbortSignal): Promise<boolean> {
    const { handlers, features } = this.#deps;
    const handler = handlers.cachedHandler(pod);
    return handler !== undefined && hasRecursiveReadOnly(await features.refresh(handler, signal));
  }

  /** The features that the pod's status depends on, as last known. */
  statusFeatures(pod: Pod): StatusFeatures {
    const { handlers, features, stopSignals } = this.#deps;
    const handler = handlers.cachedHandler(pod);
    const recursiveReadOnly = handler !== undefined && hasRecursiveReadOnly(features.known(handler));
    return { stopSignals, recursiveReadOnly };
  }
}

function hasRecursiveReadOnly(known: KnownHandlerFeatures): boolean {
  return known !== 'unlisted' && known.recursiveReadOnlyMounts;
}
