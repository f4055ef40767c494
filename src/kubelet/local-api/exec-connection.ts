import type { ExecEnd, WindowSize } from './exec-protocol.ts';

/** A command that was started, from the side of who started it, whatever carries its streams. */
export interface ExecConnection {
  /** Hands all output on, each in its order, then tells how the command ended. Once. */
  receive(output: ExecOutput): Promise<ExecEnd>;
  /** Resolves when the connection has taken it: the way to wait for a slow command. */
  stdin(data: Uint8Array): Promise<void>;
  /** The command finds the end of its input; nothing of the sort where the protocol has no word for it. */
  endStdin(): Promise<void>;
  resize(size: WindowSize): Promise<void>;
}

export interface ExecOutput {
  stdout(data: Uint8Array): Promise<void>;
  stderr(data: Uint8Array): Promise<void>;
}
