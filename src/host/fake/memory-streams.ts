import { ChangeSignal } from '../../base/change-signal.ts';
import type { RunningProgram, TerminalSize } from '../processes.ts';
import type { MemoryProcess } from './memory-process.ts';

/** The streams of one spawned program. */
export class MemoryStreams {
  readonly #input = new MemoryPipe();
  readonly #outputs = { stdout: new MemoryPipe(), stderr: new MemoryPipe() };
  /** The last one asked for. */
  size: TerminalSize | undefined;

  get stdin(): AsyncIterable<Uint8Array> {
    return this.#input.chunks();
  }

  readonly write = (stream: 'stdout' | 'stderr' | 'words', text: string): void => {
    if (stream !== 'words') this.#outputs[stream].push(new TextEncoder().encode(text));
  };

  of(process: MemoryProcess): RunningProgram {
    const { stdout, stderr } = this.#outputs;
    const exited = process.exited.then(({ exitCode }) => {
      for (const pipe of [this.#input, stdout, stderr]) pipe.end();
      return exitCode;
    });
    return {
      pid: process.pid,
      startTime: process.startTime,
      stdout: stdout.chunks(),
      stderr: stderr.chunks(),
      write: async (data) => this.#input.push(data),
      closeInput: () => this.#input.end(),
      resize: async (size) => {
        this.size = size;
      },
      exited,
      kill: async () => process.signal('SIGKILL'),
    };
  }
}

class MemoryPipe {
  readonly #bell = new ChangeSignal();
  readonly #waiting: Uint8Array[] = [];

  push(data: Uint8Array): void {
    this.#waiting.push(data);
    this.#bell.notify();
  }

  end(): void {
    this.#bell.close();
  }

  async *chunks(): AsyncGenerator<Uint8Array> {
    for (let more = true; more; more = await this.#bell.next()) yield* this.#taken();
    yield* this.#taken();
  }

  *#taken(): Generator<Uint8Array> {
    for (let next = this.#waiting.shift(); next; next = this.#waiting.shift()) yield next;
  }
}
