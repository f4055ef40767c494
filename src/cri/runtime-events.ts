/** Something changed about this container or sandbox: look again. */
export type RuntimeEvent =
  | { readonly kind: 'subscribed' }
  | {
      readonly kind: 'created' | 'started' | 'stopped' | 'deleted';
      /** Of the container, or of the sandbox. */
      readonly id: string;
      readonly podUid?: string;
    };

/** Where the runtime tells of changes. */
export interface RuntimeEvents {
  /** First yields `subscribed` once nothing can be missed any more; ends by throwing when the stream breaks. */
  watch(signal: AbortSignal): AsyncIterable<RuntimeEvent>;
}
