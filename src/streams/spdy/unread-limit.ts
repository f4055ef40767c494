import type { InboxObserver } from '../inbox.ts';

/** Above this much unread data, of all streams together, nothing more is read from the connection. */
export const MAX_UNREAD_BYTES = 1024 * 1024;

/** Reading resumes at this much, so that it does not toggle with every chunk. */
const RESUME_UNREAD_BYTES = MAX_UNREAD_BYTES / 2;

/** The memory that a chunk takes beside its bytes: a peer may send single bytes. */
const BYTES_PER_PIECE = 256;

/** Counts the unread bytes of all streams of a session, and blocks the connection above the limit. */
export class UnreadLimit implements InboxObserver<Uint8Array> {
  #unread = 0;
  #room: PromiseWithResolvers<void> | undefined;
  #isLifted = false;

  added(piece: Uint8Array): void {
    this.#unread += piece.length + BYTES_PER_PIECE;
  }

  removed(piece: Uint8Array): void {
    this.#unread -= piece.length + BYTES_PER_PIECE;
    if (this.#unread <= RESUME_UNREAD_BYTES) this.#room?.resolve();
  }

  /** Pending while there is too much unread data; otherwise `undefined`. */
  untilBelowLimit(): Promise<void> | undefined {
    if (this.#isLifted || this.#unread <= MAX_UNREAD_BYTES) return undefined;
    this.#room = Promise.withResolvers();
    return this.#room.promise;
  }

  /** Unblocks for good: nothing more will be received. */
  lift(): void {
    this.#isLifted = true;
    this.#room?.resolve();
  }
}
