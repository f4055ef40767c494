/**
 * The program of the thread that creates namespaces and enters others: unshare(2) and setns(2) change the calling thread.
 * It handles one request after the other, each synchronously to its end, and is back in the machine's namespaces before it
 * replies. If it cannot get back it ends, and pending requests are rejected. A bundle carries this program as text.
 */
import { closeSync, openSync, readFileSync, unlinkSync, writeFileSync } from 'node:fs';
import { parentPort, workerData } from 'node:worker_threads';
import type { NamespaceKind } from '../../namespaces.ts';
import { closeDescriptor, setInterfaceFlags } from '../sys/descriptor-calls.ts';
import { errnoCode } from '../sys/errno-code.ts';
import { STRUCT_SIZES } from '../sys/layout.ts';
import { mount, umount2 } from '../sys/mount-calls.ts';
import { sethostname, setns, unshare } from '../sys/namespace-calls.ts';
import { socket } from '../sys/socket-calls.ts';
import {
  type InternetFamily,
  type NamespaceReply,
  type NamespaceRequest,
  READY,
  type ThreadData,
} from './namespace-protocol.ts';

const CLONE_FLAGS: Readonly<Record<NamespaceKind, number>> = {
  network: 0x40000000,
  ipc: 0x08000000,
  uts: 0x04000000,
  pid: 0x20000000,
  user: 0x10000000,
};
/** The names below /proc/PID/ns. */
const PROC_NAMES: Readonly<Record<NamespaceKind, string>> = {
  network: 'net',
  ipc: 'ipc',
  uts: 'uts',
  pid: 'pid',
  user: 'user',
};

const MS_BIND = 4096;
const MNT_DETACH = 2;
const AF_INET = 2;
const AF_INET6 = 10;
const SOCK_DGRAM_CLOEXEC = 2 | 0o2000000;
const SOCK_STREAM_CLOEXEC_NONBLOCK = 1 | 0o2000000 | 0o4000;
const IFF_UP = 1;
/** `struct ifreq`: a name of 16 bytes, then a union with `short ifr_flags`. */
const IFREQ_FLAGS_OFFSET = 16;

/** A thread starts in the namespaces of the thread that creates it: the machine's. */
const machineNamespaces = (['network', 'ipc', 'uts'] as const).map((kind) => ({
  flag: CLONE_FLAGS[kind],
  fd: openSync(`/proc/thread-self/ns/${PROC_NAMES[kind]}`, 'r'),
}));

class StepError extends Error {
  readonly step: string;
  readonly code: string;
  readonly sysctl: string | undefined;

  constructor(step: string, code: string, sysctl?: string) {
    super(`${step}: ${code}`);
    this.step = step;
    this.code = code;
    this.sysctl = sysctl;
  }
}

parentPort?.on('message', (request: NamespaceRequest) => {
  parentPort?.postMessage({ number: request.number, ...resultOf(request) } satisfies NamespaceReply);
});
const { loaded }: ThreadData = workerData;
Atomics.store(loaded, 0, 1);
Atomics.notify(loaded, 0);
parentPort?.postMessage({ number: READY } satisfies NamespaceReply);

type Result = Omit<NamespaceReply, 'number'>;

function resultOf(request: NamespaceRequest): Result {
  try {
    return handle(request);
  } catch (error) {
    if (!(error instanceof StepError)) throw error;
    const { step, code, sysctl } = error;
    return { error: { step, code, ...(sysctl === undefined ? {} : { sysctl }) } };
  }
}

function handle(request: NamespaceRequest): Result {
  try {
    switch (request.kind) {
      case 'create':
        return allOrNone((pinned) => create(request, pinned));
      case 'pin':
        return allOrNone((pinned) => pin(request, pinned));
      case 'show':
        return { texts: request.networks.map(interfacesIn) };
      case 'socket':
        return { fd: socketIn(request.network, request.family) };
    }
  } finally {
    returnToMachine();
  }
}

function allOrNone(work: (pinned: string[]) => void): Result {
  const pinned: string[] = [];
  try {
    work(pinned);
    return {};
  } catch (error) {
    for (const file of pinned) unpin(file);
    throw error;
  }
}

function create({ files, hostname, sysctls = [] }: NamespaceRequest & { kind: 'create' }, pinned: string[]): void {
  const kinds = (['network', 'ipc', 'uts'] as const).filter((kind) => files[kind] !== undefined);
  step('unshare', () => unshare(kinds.reduce((flags, kind) => flags | CLONE_FLAGS[kind], 0)));
  if (files.network !== undefined) bringLoopbackUp();
  if (files.uts !== undefined && hostname !== undefined) step('sethostname', () => sethostname(hostname));
  // /proc/sys shows the values of the namespaces of the thread that opens the file.
  for (const [path, value] of sysctls) step(`sysctl ${path}`, () => writeFileSync(`/proc/sys/${path}`, value), path);
  for (const kind of kinds) bind(`/proc/thread-self/ns/${PROC_NAMES[kind]}`, files[kind], pinned);
}

function pin({ pid, files }: NamespaceRequest & { kind: 'pin' }, pinned: string[]): void {
  for (const kind of Object.keys(PROC_NAMES) as NamespaceKind[]) {
    bind(`/proc/${pid}/ns/${PROC_NAMES[kind]}`, files[kind], pinned);
  }
  if (files.network === undefined) return;
  join(files.network, CLONE_FLAGS.network);
  bringLoopbackUp();
}

function interfacesIn(file: string): string | undefined {
  try {
    join(file, CLONE_FLAGS.network);
  } catch (error) {
    // EINVAL: the file exists, but no namespace is mounted on it any more.
    if (error instanceof StepError && (error.code === 'ENOENT' || error.code === 'EINVAL')) return undefined;
    throw error;
  }
  return step('read /proc/thread-self/net/dev', () => readFileSync('/proc/thread-self/net/dev', 'utf8'));
}

function socketIn(file: string, family: InternetFamily): number {
  join(file, CLONE_FLAGS.network);
  return step('socket', () => socket(family === 'IPv4' ? AF_INET : AF_INET6, SOCK_STREAM_CLOEXEC_NONBLOCK, 0));
}

function bind(source: string, file: string | undefined, pinned: string[]): void {
  if (file === undefined) return;
  step(`create ${file}`, () => closeSync(openSync(file, 'wx', 0o444)));
  pinned.push(file);
  step(`bind ${source} to ${file}`, () => mount(source, file, null, MS_BIND, null));
}

/** The file may have been created and not mounted. */
function unpin(file: string): void {
  for (const undo of [() => umount2(file, MNT_DETACH), () => unlinkSync(file)]) {
    try {
      undo();
    } catch {
      // The reply has the error that led here; the caller removes the file again.
    }
  }
}

function join(file: string, flag: number): void {
  const fd = step(`open ${file}`, () => openSync(file, 'r'));
  try {
    step(`setns ${file}`, () => setns(fd, flag));
  } finally {
    closeSync(fd);
  }
}

function bringLoopbackUp(): void {
  step('bring up the loopback', () => {
    const fd = socket(AF_INET, SOCK_DGRAM_CLOEXEC, 0);
    try {
      const request = Buffer.alloc(STRUCT_SIZES.ifreq);
      request.write('lo');
      request.writeInt16LE(IFF_UP, IFREQ_FLAGS_OFFSET);
      setInterfaceFlags(fd, request);
    } finally {
      closeDescriptor(fd);
    }
  });
}

/** An error here leaves the message handler: it ends the thread before it can act in the wrong namespace. */
function returnToMachine(): void {
  for (const { fd, flag } of machineNamespaces) setns(fd, flag);
}

function step<T>(name: string, work: () => T, sysctl?: string): T {
  try {
    return work();
  } catch (error) {
    throw new StepError(name, errnoCode(error) ?? String(error), sysctl);
  }
}
