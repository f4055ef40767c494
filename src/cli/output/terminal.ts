import process from 'node:process';
import { ReadStream } from 'node:tty';
import { createOutput, type Output } from './output.ts';

export interface TerminalSize {
  readonly columns: number;
  readonly rows: number;
}

/** The terminal, or the pipes, that the program was started with. */
export interface Terminal {
  readonly stdout: Output;
  readonly stderr: Output;
  readonly inputIsTerminal: boolean;
  /** Standard input, to its end. */
  input(): AsyncIterable<Uint8Array>;
  /** Keys as they are pressed, Ctrl-C included: the terminal is in raw mode until the iteration ends. */
  keys(signal: AbortSignal): AsyncIterable<Uint8Array>;
  /** The size, and again whenever it changes; empty without a terminal. */
  sizes(signal: AbortSignal): AsyncIterable<TerminalSize>;
}

/** The only function that uses the standard streams of this process. `isJournal`: whether a descriptor leads to the journal. */
export function processTerminal(isJournal: (fd: number) => boolean): Terminal {
  const { stdin, stdout, stderr, env } = process;
  return {
    stdout: outputTo(stdout, isJournal(1), env),
    stderr: outputTo(stderr, isJournal(2), env),
    inputIsTerminal: stdin.isTTY === true,
    input: () => stdin,
    keys: (signal) => rawKeys(stdin, signal),
    sizes: (signal) => terminalSizes(stdout, signal),
  };
}

function outputTo(stream: NodeJS.WriteStream, isJournal: boolean, env: NodeJS.ProcessEnv): Output {
  // Every write rejects with its own error; without a listener the error would also end the process.
  stream.on('error', () => {});
  const write = (text: string | Uint8Array): Promise<void> =>
    new Promise((resolve, reject) => {
      stream.write(text, (error) => (error ? reject(error) : resolve()));
    });
  return createOutput({ isTerminal: stream.isTTY === true, isJournal, env, write });
}

async function* rawKeys(stdin: NodeJS.ReadStream, signal: AbortSignal): AsyncGenerator<Uint8Array, void, void> {
  if (signal.aborted) return;
  const end = (): void => {
    setRawMode(stdin, false); // before it is closed: a closed terminal keeps its mode
    stdin.destroy();
  };
  signal.addEventListener('abort', end, { once: true });
  setRawMode(stdin, true);
  try {
    for await (const keys of stdin) yield keys;
  } catch (error) {
    if (!signal.aborted) throw error;
  } finally {
    setRawMode(stdin, false);
    signal.removeEventListener('abort', end);
  }
}

function setRawMode(stdin: NodeJS.ReadStream, on: boolean): void {
  if (stdin instanceof ReadStream && !stdin.destroyed) stdin.setRawMode(on);
}

async function* terminalSizes(
  stdout: NodeJS.WriteStream,
  signal: AbortSignal,
): AsyncGenerator<TerminalSize, void, void> {
  if (stdout.isTTY !== true) return;
  let wake = (): void => {};
  let changed = true;
  const onResize = (): void => {
    changed = true;
    wake();
  };
  const onAbort = (): void => wake();
  stdout.on('resize', onResize);
  signal.addEventListener('abort', onAbort, { once: true });
  try {
    while (!signal.aborted) {
      if (changed) {
        changed = false;
        yield { columns: stdout.columns, rows: stdout.rows };
        continue;
      }
      await new Promise<void>((resolve) => {
        wake = resolve;
      });
    }
  } finally {
    stdout.off('resize', onResize);
    signal.removeEventListener('abort', onAbort);
  }
}
