import koffi from 'koffi';
import { ProcessStartError } from '../../processes.ts';
import { errnoName } from './libc.ts';
import { newPipe, type ProgramPipe } from './new-pipe.ts';
import { sealedCopy } from './sealed-copy.ts';

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
const close = libc.func('int close(int fd)');

/** ENOENT, EACCES, ENOTDIR. */
const ELSEWHERE: ReadonlySet<number> = new Set([2, 13, 20]);
const O_RDWR = 2;
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

/** `null`: /dev/null. A number: this descriptor of ours, which stays ours. Otherwise a pipe, of which the program has this end. */
export type ChildEnd = 'reads' | 'writes' | number | null;

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
  readonly sealed?: boolean | undefined;
}

/** A session and a process group of its own. Whoever starts it collects it with `exitStatusOf`. */
export function spawnInSession({ program, args, env, cwd, ends, sealed = false }: SpawnOrder): Spawned {
  const pipes = newPipes(ends, program);
  const actions = Buffer.alloc(STRUCT_BYTES);
  initActions(actions);
  ends.forEach((end, descriptor) => {
    const theirs = typeof end === 'number' ? end : pipes[descriptor]?.theirs;
    if (theirs === undefined) addOpen(actions, descriptor, '/dev/null', O_RDWR, 0);
    else addDup2(actions, theirs, descriptor);
  });
  if (cwd !== undefined) addChdir(actions, cwd);
  const pid = [0];
  const variables = Object.entries(env).flatMap(([name, value]) => (value === undefined ? [] : [`${name}=${value}`]));
  let failure = 0;
  for (const path of sealed ? [sealedCopy(program), program] : candidates(program, env['PATH'])) {
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

function newPipes(ends: readonly ChildEnd[], program: string): ReadonlyArray<ProgramPipe | undefined> {
  const pipes: Array<ProgramPipe | undefined> = [];
  try {
    for (const end of ends) pipes.push(typeof end === 'string' ? newPipe(end, program) : undefined);
    return pipes;
  } catch (error) {
    for (const pipe of pipes) for (const fd of pipe === undefined ? [] : [pipe.ours, pipe.theirs]) close(fd);
    throw error;
  }
}
