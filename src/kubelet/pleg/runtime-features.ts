import type { StatusResponse } from '../../cri/generated/runtime-v1.ts';
import type { RuntimeService } from '../../cri/services.ts';

/** Optional features of a runtime handler. */
export interface HandlerFeatures {
  readonly recursiveReadOnlyMounts: boolean;
  readonly userNamespaces: boolean;
}

/** The features of a handler; `unlisted` when the runtime lists its handlers but not this one. */
export type KnownHandlerFeatures = HandlerFeatures | 'unlisted';

const NONE: HandlerFeatures = { recursiveReadOnlyMounts: false, userNamespaces: false };

/**
 * Features of the runtime's handlers. They are queried again for each pod that depends on them: the runtime may be
 * upgraded while pods run.
 */
export class RuntimeFeatures {
  readonly #runtime: Pick<RuntimeService, 'status'>;
  #handlers: ReadonlyMap<string, HandlerFeatures>;

  constructor(runtime: Pick<RuntimeService, 'status'>, first: Pick<StatusResponse, 'runtimeHandlers'>) {
    this.#runtime = runtime;
    this.#handlers = handlersOf(first);
  }

  async refresh(handler: string, signal: AbortSignal): Promise<KnownHandlerFeatures> {
    this.#handlers = handlersOf(await this.#runtime.status({ verbose: false }, signal));
    return this.known(handler);
  }

  /** As of the last status. Runtimes that list no handlers have no features. */
  known(handler: string): KnownHandlerFeatures {
    return this.#handlers.get(handler) ?? (this.#handlers.size === 0 ? NONE : 'unlisted');
  }
}

function handlersOf({ runtimeHandlers }: Pick<StatusResponse, 'runtimeHandlers'>): Map<string, HandlerFeatures> {
  return new Map(runtimeHandlers.map(({ name, features }) => [name, { ...NONE, ...features }]));
}
