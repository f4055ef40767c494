import type { InboxObserver } from '../inbox.ts';

/** More than this much unread, of all streams together, and nothing more is read from the connection. */
export const MAX_UNREAD_BYTES = 1024 * 1024;

/** Reading goes on when so much is left: not for every single piece. */
const RESUME_UNREAD_BYTES = MAX_UNREAD_BYTES / 2;

/** What a piece takes beside its bytes; a peer may send single ones. */
const BYTES_PER_PIECE = 256;

/** Counts what waits in all streams of a session, and makes the connection wait for its readers. */
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

  /** Something to wait for, when there is too much. */
  untilBelowLimit(): Promise<void> | undefined {
    if (this.#isLifted || this.#unread <= MAX_UNREAD_BYTES) return undefined;
    this.#room = Promise.withResolvers();
    return this.#room.promise;
  }

  /** Nothing is put in any more: nobody has to wait. */
  lift(): void {
    this.#isLifted = true;
    this.#room?.resolve();
  }
}
