import type { FakeContainer, FakeSandbox } from './records.ts';

/** A change that took effect in the runtime, whatever the caller's result was. */
export type Effect =
  /** `sandboxStopped` is emitted for each stop, even if the sandbox was not ready; `sandboxLost` when the sandbox leaves `ready`. */
  | {
      readonly kind: 'sandboxReady' | 'sandboxLost' | 'sandboxStopped' | 'sandboxRemoved';
      readonly sandbox: Readonly<FakeSandbox>;
    }
  | { readonly kind: 'created' | 'started' | 'exited' | 'removed'; readonly container: Readonly<FakeContainer> }
  /** A running container got SIGTERM, and is killed after the grace period. */
  | { readonly kind: 'terminating'; readonly container: Readonly<FakeContainer>; readonly graceSeconds: number }
  /** SIGKILL; `exited` follows at once. */
  | { readonly kind: 'killed'; readonly container: Readonly<FakeContainer> };
