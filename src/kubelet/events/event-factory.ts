import type { Event, ObjectReference } from '../../api/generated/core-v1.ts';
import { dnsSubdomainErrors } from '../../base/name-syntax.ts';
import { randomUid } from '../../base/random-uid.ts';
import { formatTime } from '../../base/rfc3339.ts';
import type { Random } from '../../host/random.ts';

/** An event of one object, as a component records it. */
export interface EventReport {
  readonly involvedObject: ObjectReference;
  readonly type: 'Normal' | 'Warning';
  readonly reason: string;
  readonly message: string;
  readonly annotations?: Readonly<Record<string, string>> | undefined;
  readonly atMs: number;
}

export interface EventFactoryDeps {
  readonly nodeName: string;
  readonly random: Random;
}

const NS_PER_MS = 1_000_000n;
/** The namespace of events of cluster-scoped objects. */
const DEFAULT_NAMESPACE = 'default';

/** Creates events as client-go does. Their names are unique, even for one object at one time. */
export class EventFactory {
  readonly #deps: EventFactoryDeps;
  #lastNs = 0n;

  constructor(deps: EventFactoryDeps) {
    this.#deps = deps;
  }

  create({ involvedObject, type, reason, message, annotations = {}, atMs }: EventReport): Event {
    const { nodeName } = this.#deps;
    const component = 'kubelet';
    return {
      apiVersion: 'v1',
      kind: 'Event',
      metadata: {
        name: this.#name(involvedObject.name ?? '', atMs),
        namespace: involvedObject.namespace || DEFAULT_NAMESPACE,
        ...(Object.keys(annotations).length > 0 && { annotations }),
      },
      involvedObject,
      reason,
      message,
      source: { component, host: nodeName },
      firstTimestamp: formatTime(atMs),
      lastTimestamp: formatTime(atMs),
      count: 1,
      type,
      reportingComponent: component,
      reportingInstance: nodeName,
    };
  }

  /** Creates the event that stands for similar ones; as in client-go, it has no reporting component. */
  createAggregate({ metadata, involvedObject, source, type, reason }: Event, message: string, atMs: number): Event {
    const time = formatTime(atMs);
    return {
      apiVersion: 'v1',
      kind: 'Event',
      metadata: { name: this.#name(involvedObject.name ?? '', atMs), namespace: metadata.namespace },
      involvedObject,
      reason,
      message,
      source,
      firstTimestamp: time,
      lastTimestamp: time,
      count: 1,
      type,
    };
  }

  #name(objectName: string, atMs: number): string {
    const ns = BigInt(Math.floor(atMs)) * NS_PER_MS;
    this.#lastNs = ns > this.#lastNs ? ns : this.#lastNs + 1n;
    const name = `${objectName}.${this.#lastNs.toString(16)}`;
    return dnsSubdomainErrors(name).length === 0 ? name : randomUid(this.#deps.random);
  }
}
