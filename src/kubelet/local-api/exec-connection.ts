import type { ExecEnd, WindowSize } from './exec-protocol.ts';

/** The client's side of a running command, independent of the protocol of its streams. */
export interface ExecConnection {
  /** Passes on all output in order, then returns how the command ended. To be called once. */
  receive(output: ExecOutput): Promise<ExecEnd>;
  /** Resolves when the connection has accepted the data: backpressure of a slow command. */
  stdin(data: Uint8Array): Promise<void>;
  /** Ends the command's standard input; does nothing where the protocol cannot. */
  endStdin(): Promise<void>;
  resize(size: WindowSize): Promise<void>;
}

export interface ExecOutput {
  stdout(data: Uint8Array): Promise<void>;
  stderr(data: Uint8Array): Promise<void>;
}
