import { Event, type MessageFns, PluginDefinition, StateChangeEvent } from './generated/nri-v1alpha1.ts';
import type { TtrpcPeer } from './ttrpc/ttrpc-peer.ts';

type Methods = PluginDefinition['methods'];

/** `runPodSandbox`, … */
export type PluginMethod = keyof Methods;
export type RequestOf<M extends PluginMethod> = Methods[M]['requestType'] extends MessageFns<infer R> ? R : never;
export type ResponseOf<M extends PluginMethod> = Methods[M]['responseType'] extends MessageFns<infer R> ? R : never;

/** A method without its types, for generic code. */
interface ErasedMethod {
  readonly name: string;
  readonly requestType: MessageFns<unknown>;
  readonly responseType: MessageFns<unknown>;
}

export function methodName(method: PluginMethod): string {
  return PluginDefinition.methods[method].name;
}

/** Rejects as `TtrpcPeer.call` does; a response that cannot be decoded is a plain error. */
export async function callPlugin<M extends PluginMethod>(
  peer: TtrpcPeer,
  method: M,
  request: RequestOf<M>,
  { timeoutMs, signal }: { readonly timeoutMs: number; readonly signal: AbortSignal },
): Promise<ResponseOf<M>> {
  const { name, requestType, responseType } = PluginDefinition.methods[method] as ErasedMethod;
  const payload = requestType.encode(request).finish();
  const answer = await peer.call({ service: PluginDefinition.fullName, method: name, payload, timeoutMs }, signal);
  return responseType.decode(answer) as ResponseOf<M>; // the definition's own codec for this method
}

/** The events that a plugin may subscribe to, by method. */
export const METHOD_EVENTS = {
  runPodSandbox: Event.RUN_POD_SANDBOX,
  updatePodSandbox: Event.UPDATE_POD_SANDBOX,
  postUpdatePodSandbox: Event.POST_UPDATE_POD_SANDBOX,
  stopPodSandbox: Event.STOP_POD_SANDBOX,
  removePodSandbox: Event.REMOVE_POD_SANDBOX,
  createContainer: Event.CREATE_CONTAINER,
  postCreateContainer: Event.POST_CREATE_CONTAINER,
  startContainer: Event.START_CONTAINER,
  postStartContainer: Event.POST_START_CONTAINER,
  updateContainer: Event.UPDATE_CONTAINER,
  postUpdateContainer: Event.POST_UPDATE_CONTAINER,
  stopContainer: Event.STOP_CONTAINER,
  removeContainer: Event.REMOVE_CONTAINER,
  validateContainerAdjustment: Event.VALIDATE_CONTAINER_ADJUSTMENT,
} as const satisfies Partial<Record<PluginMethod, Event>>;

export type EventMethod = keyof typeof METHOD_EVENTS;

/** A set of events as one number: bit 0 is the first event. */
export const ALL_EVENTS = (1 << (Event.LAST - 1)) - 1;

export function hasEvent(mask: number, event: Event): boolean {
  return (mask & (1 << (event - 1))) !== 0;
}

/** Events that plugins of older versions receive through the single method `StateChange`. */
const STATE_CHANGES: ReadonlySet<EventMethod> = new Set([
  'runPodSandbox',
  'postUpdatePodSandbox',
  'stopPodSandbox',
  'removePodSandbox',
  'postCreateContainer',
  'startContainer',
  'postStartContainer',
  'postUpdateContainer',
  'removeContainer',
]);

/** Converts an event to `StateChange`; `undefined` for methods without that form. */
export function stateChange<M extends EventMethod>(method: M, request: RequestOf<M>): StateChangeEvent | undefined {
  if (!STATE_CHANGES.has(method)) return undefined;
  const { pod, container } = request as Partial<StateChangeEvent>; // all of these have both fields, or only the first
  return StateChangeEvent.create({ event: METHOD_EVENTS[method], pod, container });
}
