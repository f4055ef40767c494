import type { ByteStream } from './network.ts';

/** Programs that are started with a connection to the agent and end with it. */
export interface ConnectedPrograms {
  /**
   * Starts a program in a new session with a connected socket as file descriptor 3. Its output is discarded.
   * Rejects with a `ProcessStartError`.
   */
  start(program: ConnectedProgram): Promise<ConnectedProcess>;
}

export interface ConnectedProgram {
  readonly program: string;
  readonly args: readonly string[];
  /** The whole environment. */
  readonly env: Readonly<Record<string, string>>;
}

export interface ConnectedProcess {
  readonly stream: ByteStream;
  /** Resolves when the program has ended; 128 + number when a signal ended it. */
  readonly exited: Promise<{ readonly exitCode: number }>;
  /** Kills the program and its descendants. Not an error when it has ended already. */
  kill(): void;
}
