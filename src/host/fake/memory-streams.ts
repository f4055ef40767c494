import { ChangeSignal } from '../../base/change-signal.ts';
import type { RunningProgram, TerminalSize } from '../processes.ts';
import type { MemoryProcess } from './memory-process.ts';

/** The streams of one spawned program. */
export class MemoryStreams {
  readonly #input = new MemoryPipe();
  readonly #outputs = { stdout: new MemoryPipe(), stderr: new MemoryPipe() };
  /** The last requested size. */
  size: TerminalSize | undefined;

  get stdin(): AsyncIterable<Uint8Array> {
    return this.#input.chunks();
  }

  readonly write = (stream: 'stdout' | 'stderr' | 'monitor', text: string): void => {
    if (stream !== 'monitor') this.#outputs[stream].push(new TextEncoder().encode(text));
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
  readonly #changes = new ChangeSignal();
  readonly #chunks: Uint8Array[] = [];

  push(data: Uint8Array): void {
    this.#chunks.push(data);
    this.#changes.notify();
  }

  end(): void {
    this.#changes.close();
  }

  async *chunks(): AsyncGenerator<Uint8Array> {
    for (let more = true; more; more = await this.#changes.next()) yield* this.#take();
    yield* this.#take();
  }

  *#take(): Generator<Uint8Array> {
    for (let next = this.#chunks.shift(); next; next = this.#chunks.shift()) yield next;
  }
}
