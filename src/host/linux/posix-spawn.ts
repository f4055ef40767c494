import koffi from 'koffi';
import { ProcessStartError } from '../processes.ts';
import { errnoName } from './libc.ts';

/**
 * posix_spawn(3) of glibc: the new process borrows our memory until it runs the program. Node.js forks instead, which
 * copies the page tables of all that we have and makes every page fault once more, on the thread that does all the work.
 */
const libc = koffi.load('libc.so.6');
const posixSpawn = libc.func(
  'int posix_spawn(_Out_ int *pid, const char *path, uint8_t *actions, uint8_t *attributes, const char **argv, const char **envp)',
);
const initActions = libc.func('int posix_spawn_file_actions_init(_Out_ uint8_t *actions)');
const addDup2 = libc.func('int posix_spawn_file_actions_adddup2(_Inout_ uint8_t *actions, int from, int to)');
const addOpen = libc.func(
  'int posix_spawn_file_actions_addopen(_Inout_ uint8_t *actions, int fd, const char *path, int flags, unsigned int mode)',
);
const addChdir = libc.func('int posix_spawn_file_actions_addchdir_np(_Inout_ uint8_t *actions, const char *path)');
const destroyActions = libc.func('int posix_spawn_file_actions_destroy(_Inout_ uint8_t *actions)');
const initAttributes = libc.func('int posix_spawnattr_init(_Out_ uint8_t *attributes)');
const setFlags = libc.func('int posix_spawnattr_setflags(_Inout_ uint8_t *attributes, short flags)');
const setDefaultSignals = libc.func('int posix_spawnattr_setsigdefault(_Inout_ uint8_t *attributes, uint8_t *signals)');
const setSignalMask = libc.func('int posix_spawnattr_setsigmask(_Inout_ uint8_t *attributes, uint8_t *signals)');
const fillSignals = libc.func('int sigfillset(_Out_ uint8_t *signals)');
const pipe2 = libc.func('int pipe2(_Out_ int *fds, int flags)');
const close = libc.func('int close(int fd)');
const waitid = libc.func('int waitid(int idtype, int id, _Out_ uint8_t *info, int options)');
const waitpid = libc.func('int waitpid(int pid, _Out_ int *status, int options)');

const P_PID = 1;
const WNOHANG = 1;
const WEXITED = 4;
const WNOWAIT = 0x01000000;
/** ENOENT, EACCES, ENOTDIR. */
const ELSEWHERE: ReadonlySet<number> = new Set([2, 13, 20]);
const O_RDWR = 2;
const O_CLOEXEC = 0o2000000;
/** What glibc has on 64 bits is 80 and 336 bytes. */
const STRUCT_BYTES = 512;
const SETSIGDEF = 0x04;
const SETSIGMASK = 0x08;
const SETSID = 0x80;
const SIGSET_BYTES = 128;

const attributes = newSession();

/** A session of its own, every signal as it is by default, none held back. */
function newSession(): Buffer {
  const made = Buffer.alloc(STRUCT_BYTES);
  const signals = Buffer.alloc(SIGSET_BYTES);
  initAttributes(made);
  setFlags(made, SETSIGDEF | SETSIGMASK | SETSID);
  setSignalMask(made, signals);
  fillSignals(signals);
  setDefaultSignals(made, signals);
  return made;
}

/** `null`: /dev/null. Otherwise a pipe, of which the program has this end. */
export type ChildEnd = 'reads' | 'writes' | null;

export interface Spawned {
  readonly pid: number;
  /** Our ends, in the order of the descriptors; the caller closes them. */
  readonly ours: ReadonlyArray<number | undefined>;
}

export interface SpawnOrder {
  readonly program: string;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly cwd?: string | undefined;
  /** Of descriptor 0 and up. */
  readonly ends: readonly ChildEnd[];
}

/** A session and a process group of its own. Whoever starts it collects it with `exitStatusOf`. */
export function spawnInSession({ program, args, env, cwd, ends }: SpawnOrder): Spawned {
  const pipes = newPipes(ends, program);
  const actions = Buffer.alloc(STRUCT_BYTES);
  initActions(actions);
  pipes.forEach((pipe, descriptor) => {
    if (pipe === undefined) addOpen(actions, descriptor, '/dev/null', O_RDWR, 0);
    else addDup2(actions, pipe.theirs, descriptor);
  });
  if (cwd !== undefined) addChdir(actions, cwd);
  const pid = [0];
  const variables = Object.entries(env).flatMap(([name, value]) => (value === undefined ? [] : [`${name}=${value}`]));
  let failure = 0;
  for (const path of candidates(program, env['PATH'])) {
    failure = posixSpawn(pid, path, actions, attributes, [program, ...args, null], [...variables, null]);
    if (!ELSEWHERE.has(failure)) break;
  }
  destroyActions(actions);
  for (const pipe of pipes) if (pipe !== undefined) close(pipe.theirs);
  if (failure === 0 && pid[0] !== undefined) return { pid: pid[0], ours: pipes.map((pipe) => pipe?.ours) };
  for (const pipe of pipes) if (pipe !== undefined) close(pipe.ours);
  throw new ProcessStartError(errnoName(failure), program);
}

/** A bare name is looked for in the `PATH` that the program gets. */
function candidates(program: string, path = '/usr/bin:/bin'): readonly string[] {
  return program.includes('/') ? [program] : path.split(':').map((folder) => `${folder || '.'}/${program}`);
}

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

function newPipes(ends: readonly ChildEnd[], program: string): ReadonlyArray<ProgramPipe | undefined> {
  const pipes: Array<ProgramPipe | undefined> = [];
  try {
    for (const end of ends) pipes.push(end === null ? undefined : newPipe(end, program));
    return pipes;
  } catch (error) {
    for (const pipe of pipes) for (const fd of pipe === undefined ? [] : [pipe.ours, pipe.theirs]) close(fd);
    throw error;
  }
}

/** What `waitid` writes and nobody reads. One for good: in a call that goes on, koffi keeps no buffer from being collected. */
const unread = Buffer.alloc(STRUCT_BYTES);

/**
 * Takes a thread of Node's pool until the process has ended. The number as shells tell it: 128 + signal. The process is
 * collected here and not on that thread: until then its number is not given to another one.
 */
export function exitStatusOf(pid: number): Promise<number> {
  return new Promise((resolve, reject) => {
    waitid.async(P_PID, pid, unread, WEXITED | WNOWAIT, (error: unknown, result: number) => {
      if (error) reject(error);
      else if (result === -1) reject(new Error(`waitid: ${errnoName(koffi.errno())}`));
      else resolve(collect(pid) ?? 0);
    });
  });
}

/** `undefined`: it runs. */
function collect(pid: number): number | undefined {
  const status = [0];
  if (waitpid(pid, status, WNOHANG) !== pid) return undefined;
  const [number = 0] = status;
  const killedBy = number & 0x7f;
  return killedBy === 0 ? (number >> 8) & 0xff : 128 + killedBy;
}
