import type { FakeContainer, FakeSandbox } from './records.ts';

/** Something that really happened in the runtime, whoever asked for it and whatever they were told. */
export type Effect =
  /** `sandboxStopped` is told for each stop, also of one that was not ready any more; `sandboxLost` at its own end. */
  | {
      readonly kind: 'sandboxReady' | 'sandboxLost' | 'sandboxStopped' | 'sandboxRemoved';
      readonly sandbox: Readonly<FakeSandbox>;
    }
  | { readonly kind: 'created' | 'started' | 'exited' | 'removed'; readonly container: Readonly<FakeContainer> }
  /** A running container is asked to end, and will be killed after so many seconds. */
  | { readonly kind: 'terminating'; readonly container: Readonly<FakeContainer>; readonly graceSeconds: number }
  /** SIGKILL; `exited` follows at once. */
  | { readonly kind: 'killed'; readonly container: Readonly<FakeContainer> };
