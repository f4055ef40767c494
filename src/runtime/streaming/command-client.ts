import type { CommandOutcome } from './command-outcome.ts';
import type { TerminalSize } from './terminal-size-parser.ts';

/** Streams that a client of exec or attach requests. Other streams are not forwarded. */
export interface CommandStreams {
  readonly stdin: boolean;
  readonly stdout: boolean;
  readonly stderr: boolean;
  readonly tty: boolean;
}

/** An exec or attach client, independent of its transport (WebSocket or SPDY). */
export interface CommandClient {
  /** Read once; ends when the client ends its input or is gone. Empty without stdin. */
  readonly stdin: AsyncIterable<Uint8Array>;
  /** Terminal sizes; older ones are dropped. Ends when the client is gone. */
  readonly resizes: AsyncIterable<TerminalSize>;
  /** Resolves when the client has accepted the data, which applies back-pressure. Rejects when it is gone. */
  stdout(data: Uint8Array): Promise<void>;
  stderr(data: Uint8Array): Promise<void>;
  /** Sends the outcome after all output, and closes. Call once. */
  finish(outcome: CommandOutcome): Promise<void>;
  /** Closes without an outcome. */
  close(): void;
  /** Resolves when the client is gone, even if unread data is left. */
  readonly gone: Promise<void>;
}
