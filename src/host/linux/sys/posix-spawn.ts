/**
 * posix_spawn(3) of glibc: the new process shares our memory until it runs the program. Node.js forks instead, which copies
 * all page tables, so that every page must be copied or mapped again, on the main thread.
 */
import { ProcessStartError } from '../../processes.ts';
import { closeDescriptor, newPipe } from './descriptor-calls.ts';
import { declareCall, declareErrnoCall } from './ffi.ts';
import { STRUCT_SIZES } from './layout.ts';
import { sealedCopy } from './sealed-copy.ts';
import { SystemCallError } from './system-call-error.ts';

type Args = readonly (string | null)[];

const posixSpawn = declareErrnoCall<
  [pid: number[], path: string, actions: Buffer, attributes: Buffer, argv: Args, envp: Args]
>(
  'int posix_spawn(_Out_ int *pid, const char *path, uint8_t *actions, uint8_t *attributes, const char **argv, const char **envp)',
  (_pid, path) => path,
);
const initActions = declareErrnoCall<[actions: Buffer]>('int posix_spawn_file_actions_init(_Out_ uint8_t *actions)');
const addDup2 = declareErrnoCall<[actions: Buffer, from: number, to: number]>(
  'int posix_spawn_file_actions_adddup2(_Inout_ uint8_t *actions, int from, int to)',
);
const addOpen = declareErrnoCall<[actions: Buffer, fd: number, path: string, flags: number, mode: number]>(
  'int posix_spawn_file_actions_addopen(_Inout_ uint8_t *actions, int fd, const char *path, int flags, unsigned int mode)',
);
const addChdir = declareErrnoCall<[actions: Buffer, path: string]>(
  'int posix_spawn_file_actions_addchdir_np(_Inout_ uint8_t *actions, const char *path)',
);
const destroyActions = declareErrnoCall<[actions: Buffer]>(
  'int posix_spawn_file_actions_destroy(_Inout_ uint8_t *actions)',
);
const initAttributes = declareErrnoCall<[attributes: Buffer]>('int posix_spawnattr_init(_Out_ uint8_t *attributes)');
const setFlags = declareErrnoCall<[attributes: Buffer, flags: number]>(
  'int posix_spawnattr_setflags(_Inout_ uint8_t *attributes, short flags)',
);
const setDefaultSignals = declareErrnoCall<[attributes: Buffer, signals: Buffer]>(
  'int posix_spawnattr_setsigdefault(_Inout_ uint8_t *attributes, uint8_t *signals)',
);
const setSignalMask = declareErrnoCall<[attributes: Buffer, signals: Buffer]>(
  'int posix_spawnattr_setsigmask(_Inout_ uint8_t *attributes, uint8_t *signals)',
);
const fillSignals = declareCall<[signals: Buffer]>('int sigfillset(_Out_ uint8_t *signals)');

/** Errors after which the next folder of `PATH` is tried. */
const NOT_FOUND: ReadonlySet<string> = new Set(['ENOENT', 'EACCES', 'ENOTDIR']);
const O_RDWR = 2;
const POSIX_SPAWN_SETSIGDEF = 0x04;
const POSIX_SPAWN_SETSIGMASK = 0x08;
const POSIX_SPAWN_SETSID = 0x80;

let sessionAttributes: Buffer | undefined;

/** A new session, all signals with their default action, none blocked. */
function newSessionAttributes(): Buffer {
  const attributes = Buffer.alloc(STRUCT_SIZES.posix_spawn);
  const signals = Buffer.alloc(STRUCT_SIZES.sigset_t);
  initAttributes(attributes);
  setFlags(attributes, POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSID);
  setSignalMask(attributes, signals);
  fillSignals(signals);
  setDefaultSignals(attributes, signals);
  return attributes;
}

/** `null`: /dev/null. A number: a descriptor of the caller, which keeps it. Otherwise a pipe that the program reads or writes. */
export type ChildDescriptor = 'reads' | 'writes' | number | null;

export interface SpawnedProcess {
  readonly pid: number;
  /** Our ends of the pipes, by the program's descriptor; the caller closes them. */
  readonly ours: ReadonlyArray<number | undefined>;
}

export interface SpawnRequest {
  readonly program: string;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly cwd?: string | undefined;
  /** From descriptor 0 on. */
  readonly descriptors: readonly ChildDescriptor[];
  /** Runs a sealed copy of the program. */
  readonly sealed?: boolean | undefined;
}

/** Pipes of their own: Node.js makes sockets, which the program cannot open as `/dev/stdout`. */
interface ChildPipe {
  readonly ours: number;
  readonly theirs: number;
}

/** Starts a program in a new session and process group. The caller collects it with `exitStatusOf`. */
export function spawnInSession(request: SpawnRequest): SpawnedProcess {
  const pipes: Array<ChildPipe | undefined> = [];
  try {
    for (const descriptor of request.descriptors) pipes.push(pipeFor(descriptor));
    const pid = spawnWith(request, pipes);
    return { pid, ours: pipes.map((pipe) => pipe?.ours) };
  } catch (error) {
    for (const pipe of pipes) if (pipe !== undefined) closeDescriptor(pipe.ours);
    if (!(error instanceof SystemCallError)) throw error;
    throw new ProcessStartError(error.code, request.program, { cause: error });
  } finally {
    for (const pipe of pipes) if (pipe !== undefined) closeDescriptor(pipe.theirs);
  }
}

function spawnWith(request: SpawnRequest, pipes: ReadonlyArray<ChildPipe | undefined>): number {
  const { program, args, env, cwd, descriptors } = request;
  sessionAttributes ??= newSessionAttributes();
  const actions = Buffer.alloc(STRUCT_SIZES.posix_spawn);
  initActions(actions);
  try {
    for (const [number, descriptor] of descriptors.entries()) {
      const theirs = typeof descriptor === 'number' ? descriptor : pipes[number]?.theirs;
      if (theirs === undefined) addOpen(actions, number, '/dev/null', O_RDWR, 0);
      else addDup2(actions, theirs, number);
    }
    if (cwd !== undefined) addChdir(actions, cwd);
    const variables = Object.entries(env).flatMap(([name, value]) => (value === undefined ? [] : [`${name}=${value}`]));
    return spawnFirst(candidatePaths(request), (pid, path) =>
      posixSpawn(pid, path, actions, sessionAttributes ?? actions, [program, ...args, null], [...variables, null]),
    );
  } finally {
    destroyActions(actions);
  }
}

/** The pid of the first path that exists and may be run. */
function spawnFirst(paths: readonly string[], spawn: (pid: number[], path: string) => void): number {
  const pid = [0];
  for (const [index, path] of paths.entries()) {
    try {
      spawn(pid, path);
      break;
    } catch (error) {
      const isNotFound = error instanceof SystemCallError && NOT_FOUND.has(error.code);
      if (!isNotFound || index === paths.length - 1) throw error;
    }
  }
  return pid[0] ?? 0;
}

/** A bare name is searched for in the `PATH` that the program gets. */
function candidatePaths({ program, env, sealed = false }: SpawnRequest): readonly string[] {
  if (sealed) return [sealedCopy(program), program];
  if (program.includes('/')) return [program];
  return (env['PATH'] ?? '/usr/bin:/bin').split(':').map((folder) => `${folder || '.'}/${program}`);
}

function pipeFor(descriptor: ChildDescriptor): ChildPipe | undefined {
  if (typeof descriptor !== 'string') return undefined;
  const { readEnd, writeEnd } = newPipe();
  return descriptor === 'reads' ? { ours: writeEnd, theirs: readEnd } : { ours: readEnd, theirs: writeEnd };
}
