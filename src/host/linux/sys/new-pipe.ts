import koffi from 'koffi';
import { ProcessStartError } from '../../processes.ts';
import { errnoName } from './libc.ts';

const pipe2 = koffi.load('libc.so.6').func('int pipe2(_Out_ int *fds, int flags)');

const O_CLOEXEC = 0o2000000;

export interface ProgramPipe {
  readonly ours: number;
  readonly theirs: number;
}

/** A pipe proper: what Node.js makes is a socket, which the program cannot open as `/dev/stdout`. */
export function newPipe(end: 'reads' | 'writes', program: string): ProgramPipe {
  const fds = [0, 0];
  if (pipe2(fds, O_CLOEXEC) === -1) throw new ProcessStartError(errnoName(koffi.errno()), program);
  const [read = 0, write = 0] = fds;
  return end === 'reads' ? { ours: write, theirs: read } : { ours: read, theirs: write };
}
