/** A container or sandbox changed: read its status again. */
export type RuntimeEvent =
  | { readonly kind: 'subscribed' }
  | {
      readonly kind: 'created' | 'started' | 'stopped' | 'deleted';
      /** Id of the container or sandbox. */
      readonly id: string;
      readonly podUid?: string;
      /** Wall-clock milliseconds at which the runtime created the event, if it says so. */
      readonly createdMs?: number;
    };

/** The event source of a runtime. */
export interface RuntimeEvents {
  /** Yields `subscribed` first, once no event can be missed. Throws when the stream fails. */
  watch(signal: AbortSignal): AsyncIterable<RuntimeEvent>;
}
