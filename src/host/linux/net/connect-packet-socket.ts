import { closeSync } from 'node:fs';
import { KeyedMutex } from '../../../base/keyed-mutex.ts';
import { setStatusFlags } from '../sys/descriptor-calls.ts';
import { errnoCode } from '../sys/errno-code.ts';
import { connect, setSendTimeout, shortUnixAddress, socket } from '../sys/socket-calls.ts';
import { asNetworkError } from './network-error.ts';

const AF_UNIX = 1;
const SOCK_SEQPACKET = 5;
const CLOSE_ON_EXEC = 0o2000000;
const NON_BLOCKING = 0o4000;

/** How long a thread of the pool waits for a listener with a full backlog before the caller's signal is checked again. */
const WAIT_FOR_BACKLOG_SECONDS = 1;

/** One waiting connect(2) at a time for each socket path. */
const turns = new KeyedMutex();

/** The descriptor of a connected `SOCK_SEQPACKET` socket; rejects with a `NetworkError` or the signal's reason. */
export async function connectPacketSocket(socketPath: string, signal: AbortSignal): Promise<number> {
  signal.throwIfAborted();
  let fd = -1;
  try {
    using short = shortUnixAddress(socketPath);
    fd = socket(AF_UNIX, SOCK_SEQPACKET | CLOSE_ON_EXEC | NON_BLOCKING, 0);
    if (!connectNow(fd, short.address)) {
      const [waiting, { address }] = [fd, short];
      await turns.run(socketPath, () => connectWhenAccepted(waiting, address, signal));
    }
    return fd;
  } catch (error) {
    if (fd !== -1) closeSync(fd);
    signal.throwIfAborted();
    throw asNetworkError(error);
  }
}

/** `false`: the listener's backlog is full. */
function connectNow(fd: number, address: Buffer): boolean {
  try {
    connect(fd, address, address.byteLength);
    return true;
  } catch (error) {
    if (errnoCode(error) === 'EAGAIN') return false;
    throw error;
  }
}

/** The kernel reports free space in a backlog only to a blocking connect(2), so this one waits on a thread of the pool. */
async function connectWhenAccepted(fd: number, address: Buffer, signal: AbortSignal): Promise<void> {
  setStatusFlags(fd, 0);
  setSendTimeout(fd, WAIT_FOR_BACKLOG_SECONDS);
  for (;;) {
    signal.throwIfAborted();
    try {
      await connect.async(fd, address, address.byteLength);
      return;
    } catch (error) {
      if (errnoCode(error) !== 'EAGAIN') throw error;
    }
  }
}
