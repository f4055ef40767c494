import type { Pod, Service } from '../../api/generated/core-v1.ts';
import { isStaticPod } from '../../api/pod-names.ts';
import { abortable } from '../../base/abortable.ts';
import { type ObjectChange, type ReflectorDeps, runReflector } from '../api-client/reflector.ts';
import { CausedError } from '../pod/pod-cause.ts';
import { serviceVariables } from './service-variables.ts';

/** How long a pod waits for the first list, as for other objects. */
const FIRST_LIST_MS = 1_000;

export interface ServicesDeps extends ReflectorDeps {
  /** Called when services are known for a pod that had to start without them. */
  readonly onChange: (uid: string) => void;
}

/** The services of the cluster, for the environment variables of pods. */
export class Services {
  readonly #deps: ServicesDeps;
  readonly #firstList = Promise.withResolvers<void>();
  readonly #missedBy = new Set<string>();
  #services: ReadonlyMap<string, Service> | undefined;

  constructor(deps: ServicesDeps) {
    this.#deps = deps;
  }

  async run(signal: AbortSignal): Promise<void> {
    const handler = {
      onList: (all: readonly Service[]) => this.#set(new Map(all.map((service) => [serviceKey(service), service]))),
      onChange: (change: ObjectChange<Service>) => this.#apply(change),
    };
    await runReflector({ resource: 'services' }, handler, this.#deps, signal);
  }

  /**
   * A pod of the API server waits for the first list. A static pod does not: the API server itself may be a static pod.
   */
  async variables(pod: Pod, signal: AbortSignal): Promise<ReadonlyMap<string, string>> {
    if (this.#services === undefined && !isStaticPod(pod)) await this.#waitForFirstList(pod, signal);
    const { enableServiceLinks = true } = pod.spec;
    const all = [...(this.#services?.values() ?? [])];
    return serviceVariables(all, { namespace: pod.metadata.namespace, enableServiceLinks });
  }

  async #waitForFirstList({ metadata }: Pod, signal: AbortSignal): Promise<void> {
    const patience = AbortSignal.any([signal, this.#deps.clock.deadline(FIRST_LIST_MS)]);
    try {
      await abortable(this.#firstList.promise, patience);
    } catch (error) {
      signal.throwIfAborted();
      this.#missedBy.add(metadata.uid);
      const message = 'services have not yet been read at least once, cannot construct envvars';
      throw new CausedError(message, { kind: 'servicesNotSynced' }, { cause: error });
    }
  }

  #apply({ type, object }: ObjectChange<Service>): void {
    const services = new Map(this.#services);
    if (type === 'DELETED') services.delete(serviceKey(object));
    else services.set(serviceKey(object), object);
    this.#set(services);
  }

  #set(services: ReadonlyMap<string, Service>): void {
    this.#services = services;
    this.#firstList.resolve();
    for (const uid of this.#missedBy) this.#deps.onChange(uid);
    this.#missedBy.clear();
  }
}

function serviceKey({ metadata }: Service): string {
  return `${metadata.namespace}/${metadata.name}`;
}
