import type { StatusResponse } from '../../cri/generated/runtime-v1.ts';
import type { RuntimeService } from '../../cri/services.ts';

/** What one of the runtime's handlers can do beyond what every one can. */
export interface HandlerFeatures {
  readonly recursiveReadOnlyMounts: boolean;
  readonly userNamespaces: boolean;
}

/** What a handler is known for; `unlisted` of a runtime that tells of its handlers, and not of this one. */
export type HandlerKnowledge = HandlerFeatures | 'unlisted';

const NONE: HandlerFeatures = { recursiveReadOnlyMounts: false, userNamespaces: false };

/**
 * What the runtime says it can do. It is asked again for each pod that depends on it: a runtime may be replaced by a
 * newer one while pods run.
 */
export class RuntimeFeatures {
  readonly #runtime: Pick<RuntimeService, 'status'>;
  #handlers: ReadonlyMap<string, HandlerFeatures>;

  constructor(runtime: Pick<RuntimeService, 'status'>, first: Pick<StatusResponse, 'runtimeHandlers'>) {
    this.#runtime = runtime;
    this.#handlers = handlersOf(first);
  }

  async refresh(handler: string, signal: AbortSignal): Promise<HandlerKnowledge> {
    this.#handlers = handlersOf(await this.#runtime.status({ verbose: false }, signal));
    return this.known(handler);
  }

  /** As of the last answer. A runtime from before handlers had features has none. */
  known(handler: string): HandlerKnowledge {
    return this.#handlers.get(handler) ?? (this.#handlers.size === 0 ? NONE : 'unlisted');
  }
}

function handlersOf({ runtimeHandlers }: Pick<StatusResponse, 'runtimeHandlers'>): Map<string, HandlerFeatures> {
  return new Map(runtimeHandlers.map(({ name, features }) => [name, { ...NONE, ...features }]));
}
