import type { CommandOutcome } from './command-outcome.ts';
import type { TerminalSize } from './terminal-size-parser.ts';

/** What a client of exec and attach may ask for; who does not ask for a stream neither gets nor gives it. */
export interface CommandStreams {
  readonly stdin: boolean;
  readonly stdout: boolean;
  readonly stderr: boolean;
  readonly tty: boolean;
}

/** A client of exec or attach, whatever carries it: a WebSocket, or streams of SPDY. */
export interface CommandClient {
  /** Read once; ends when the client has ended its input, or is gone. Empty without stdin. */
  readonly stdin: AsyncIterable<Uint8Array>;
  /** Sizes of its window; only the newest is worth anything. Ends when the client is gone. */
  readonly resizes: AsyncIterable<TerminalSize>;
  /** Resolves when the client has taken it: the way to wait for a slow one. Rejects when it is gone. */
  stdout(data: Uint8Array): Promise<void>;
  stderr(data: Uint8Array): Promise<void>;
  /** Says how it ended, after all output, and closes. Once. */
  finish(outcome: CommandOutcome): Promise<void>;
  /** Closes without a word. */
  close(): void;
  /** Resolves when the client is gone, also while there is more to read. */
  readonly gone: Promise<void>;
}
