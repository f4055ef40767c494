import type { ByteStream } from './network.ts';

/** Programs that are born with a connection to us, and live no longer than we do. */
export interface ConnectedPrograms {
  /**
   * Starts a program in a session of its own with a connected socket as file descriptor 3. Its output is thrown away.
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
  /** Resolves when it has ended; 128 + number when a signal ended it. */
  readonly exited: Promise<{ readonly exitCode: number }>;
  /** Ends the program and what it started, without asking. No error when it has ended already. */
  kill(): void;
}
