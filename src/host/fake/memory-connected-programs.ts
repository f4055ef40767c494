import type { ConnectedProcess, ConnectedProgram, ConnectedPrograms } from '../connected-programs.ts';
import type { ByteStream } from '../network.ts';
import { ProcessStartError } from '../processes.ts';
import { byteStreamPair } from './memory-byte-stream.ts';

/** A scripted program: ends with the returned exit code, or with 137 when `killed` aborts. */
export type MemoryConnectedProgram = (
  stream: ByteStream,
  env: Readonly<Record<string, string>>,
  killed: AbortSignal,
) => Promise<number>;

export class MemoryConnectedPrograms implements ConnectedPrograms {
  /** By path. */
  readonly programs = new Map<string, MemoryConnectedProgram>();

  async start({ program, env }: ConnectedProgram): Promise<ConnectedProcess> {
    const body = this.programs.get(program);
    if (body === undefined) throw new ProcessStartError('ENOENT', program);
    const [ours, theirs] = byteStreamPair();
    const killed = new AbortController();
    const death = new Promise<number>((resolve) => killed.signal.addEventListener('abort', () => resolve(137)));
    const exited = Promise.race([body(theirs, env, killed.signal), death]).then((exitCode) => {
      theirs.close();
      return { exitCode };
    });
    return { stream: ours, exited, kill: () => killed.abort() };
  }
}
