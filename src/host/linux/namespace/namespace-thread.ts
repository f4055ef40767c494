/**
 * The program of the thread that makes namespaces and goes to others: unshare(2) and setns(2) change the thread that calls
 * them. It does one order after the other, each to its end without giving way, and is back in the machine's namespaces
 * before it answers. If it cannot get back it ends, and whoever waits is told. It stands alone: a bundle carries it as text.
 */
import { closeSync, openSync, readFileSync, unlinkSync, writeFileSync } from 'node:fs';
import { parentPort, workerData } from 'node:worker_threads';
import type { NamespaceKind } from '../../namespaces.ts';
import {
  type InternetFamily,
  type NamespaceOrder,
  type NamespaceReply,
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
/** As they are called below /proc/PID/ns. */
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
const SIOCSIFFLAGS = 0x8914;
const IFF_UP = 1;
/** `struct ifreq`: a name of 16 bytes, then a union whose first member here is `short ifr_flags`. */
const IFREQ_BYTES = 40;
const IFREQ_FLAGS_OFFSET = 16;

/** A thread is born in the namespaces of the one that makes it: the machine's. */
const home = (['network', 'ipc', 'uts'] as const).map((kind) => ({
  flag: CLONE_FLAGS[kind],
  fd: openSync(`/proc/thread-self/ns/${PROC_NAMES[kind]}`, 'r'),
}));

class StepError extends Error {
  readonly what: string;
  readonly code: string;
  readonly sysctl: string | undefined;

  constructor(what: string, code: string, sysctl?: string) {
    super(`${what}: ${code}`);
    this.what = what;
    this.code = code;
    this.sysctl = sysctl;
  }
}

parentPort?.on('message', (order: NamespaceOrder) => {
  parentPort?.postMessage({ number: order.number, ...answerTo(order) } satisfies NamespaceReply);
});
const { loaded }: ThreadData = workerData;
Atomics.store(loaded, 0, 1);
Atomics.notify(loaded, 0);
parentPort?.postMessage({ number: READY } satisfies NamespaceReply);

type Answer = Omit<NamespaceReply, 'number'>;

function answerTo(order: NamespaceOrder): Answer {
  try {
    return carryOut(order);
  } catch (error) {
    if (!(error instanceof StepError)) throw error;
    const { what, code, sysctl } = error;
    return { failure: { what, code, ...(sysctl === undefined ? {} : { sysctl }) } };
  }
}

function carryOut(order: NamespaceOrder): Answer {
  try {
    switch (order.kind) {
      case 'create':
        return allOrNone((pinned) => create(order, pinned));
      case 'pin':
        return allOrNone((pinned) => pin(order, pinned));
      case 'show':
        return { texts: order.networks.map(interfacesIn) };
      case 'socket':
        return { fd: socketIn(order.network, order.family) };
    }
  } finally {
    goHome();
  }
}

function allOrNone(work: (pinned: string[]) => void): Answer {
  const pinned: string[] = [];
  try {
    work(pinned);
    return {};
  } catch (error) {
    for (const file of pinned) unpin(file);
    throw error;
  }
}

function create({ files, hostname, sysctls = [] }: NamespaceOrder & { kind: 'create' }, pinned: string[]): void {
  const kinds = (['network', 'ipc', 'uts'] as const).filter((kind) => files[kind] !== undefined);
  step('unshare', () => unshare(kinds.reduce((flags, kind) => flags | CLONE_FLAGS[kind], 0)));
  if (files.network !== undefined) bringLoopbackUp();
  if (files.uts !== undefined && hostname !== undefined) {
    step('sethostname', () => sethostname(hostname, Buffer.byteLength(hostname)));
  }
  // /proc/sys shows the values of the namespaces of the thread that opens the file.
  for (const [path, value] of sysctls) step(`sysctl ${path}`, () => writeFileSync(`/proc/sys/${path}`, value), path);
  for (const kind of kinds) bind(`/proc/thread-self/ns/${PROC_NAMES[kind]}`, files[kind], pinned);
}

function pin({ pid, files }: NamespaceOrder & { kind: 'pin' }, pinned: string[]): void {
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
    // EINVAL: the file is there, but what it held has been let go.
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

/** May have been created and not mounted. */
function unpin(file: string): void {
  for (const undo of [() => umount2(file, MNT_DETACH), () => unlinkSync(file)]) {
    try {
      undo();
    } catch {
      // What is told is why we are here; whoever asked removes the file again.
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
      const request = Buffer.alloc(IFREQ_BYTES);
      request.write('lo');
      request.writeInt16LE(IFF_UP, IFREQ_FLAGS_OFFSET);
      ioctl(fd, SIOCSIFFLAGS, request);
    } finally {
      close(fd); // Node.js wants to close only what it has opened
    }
  });
}

/** A failure here is thrown out of the message handler: it ends the thread before anything is done in the wrong place. */
function goHome(): void {
  for (const { fd, flag } of home) setns(fd, flag);
}

function step<T>(what: string, work: () => T, sysctl?: string): T {
  try {
    return work();
  } catch (error) {
    throw new StepError(what, codeOf(error), sysctl);
  }
}

function codeOf(error: unknown): string {
  return error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : String(error);
}
