import type { Pod, RuntimeClass } from '../../api/generated/core-v1.ts';
import { abortable } from '../../base/abortable.ts';
import type { Clock } from '../../host/clock.ts';
import { type ReflectorDeps, runReflector } from '../api-client/reflector.ts';
import { CausedError } from '../pod/pod-cause.ts';

/** How long a pod waits for the first list of runtime classes; then its sync fails and is retried. */
const FIRST_LIST_MS = 10_000;

/** Maps pods to the runtime handler of their runtime class. */
export interface RuntimeHandlers {
  /** Empty: the runtime's default handler. Rejects with kubelet's message for an unknown class. */
  lookupHandler(pod: Pod, signal: AbortSignal): Promise<string>;
  /** The same without waiting; `undefined` for a class that is not known (yet). */
  cachedHandler(pod: Pod): string | undefined;
}

export interface RuntimeClassesDeps {
  readonly clock: Clock;
  /** Called when the class of this name is added, changed or deleted. */
  readonly onChange: (name: string) => void;
}

/**
 * The runtime classes of all origins. Each origin sets its complete list; before the first list, a missing class is not
 * an error but waited for.
 */
export class RuntimeClasses implements RuntimeHandlers {
  readonly #deps: RuntimeClassesDeps;
  readonly #firstList = Promise.withResolvers<void>();
  readonly #byOrigin = new Map<string, ReadonlyMap<string, RuntimeClass>>();

  constructor(deps: RuntimeClassesDeps) {
    this.#deps = deps;
  }

  /** Replaces all classes of the origin. */
  set(origin: string, classes: readonly RuntimeClass[]): void {
    const before = this.#byOrigin.get(origin) ?? new Map();
    const now = new Map(classes.map((each) => [each.metadata.name, each]));
    this.#byOrigin.set(origin, now);
    this.#firstList.resolve();
    for (const name of new Set([...before.keys(), ...now.keys()])) {
      if (before.get(name)?.handler !== now.get(name)?.handler) this.#deps.onChange(name);
    }
  }

  async lookupHandler(pod: Pod, signal: AbortSignal): Promise<string> {
    if (!pod.spec.runtimeClassName) return '';
    if (this.#byOrigin.size === 0) {
      const patience = AbortSignal.any([signal, this.#deps.clock.deadline(FIRST_LIST_MS)]);
      await abortable(this.#firstList.promise, patience).catch(() => signal.throwIfAborted());
    }
    const handler = this.cachedHandler(pod);
    if (handler !== undefined) return handler;
    const name = pod.spec.runtimeClassName;
    throw new CausedError(`runtimeclass.node.k8s.io "${name}" not found`, { kind: 'runtimeClassNotFound', name });
  }

  cachedHandler({ spec }: Pod): string | undefined {
    const { runtimeClassName } = spec;
    if (!runtimeClassName) return '';
    for (const classes of this.#byOrigin.values()) {
      const found = classes.get(runtimeClassName);
      if (found) return found.handler;
    }
    return undefined;
  }
}

/** Keeps the classes in sync with the API server until the signal aborts. */
export async function watchRuntimeClasses(
  classes: RuntimeClasses,
  deps: ReflectorDeps,
  signal: AbortSignal,
): Promise<void> {
  let all: ReadonlyMap<string, RuntimeClass> = new Map();
  const replaceAll = (now: ReadonlyMap<string, RuntimeClass>): void => {
    all = now;
    classes.set('api', [...all.values()]);
  };
  await runReflector(
    { resource: 'runtimeclasses' },
    {
      onList: (items) => replaceAll(new Map(items.map((each) => [each.metadata.name, each]))),
      onChange: ({ type, object }) => {
        const { name } = object.metadata;
        const others = [...all].filter(([each]) => each !== name);
        replaceAll(new Map(type === 'DELETED' ? others : [...others, [name, object]]));
      },
    },
    deps,
    signal,
  );
}
