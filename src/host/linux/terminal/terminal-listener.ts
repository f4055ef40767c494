import { closeSync, rmSync } from 'node:fs';
import { untilHangUpOrData } from '../sys/descriptor-stream.ts';
import { accept, bind, listen, receiveDescriptor, shortUnixAddress, socket } from '../sys/socket-calls.ts';

const AF_UNIX = 1;
const SOCK_STREAM = 1;
const CLOSE_ON_EXEC = 0o2000000;
const NON_BLOCKING = 0o4000;

/** A socket at which a program sends its terminal's descriptor, as `--console-socket` of an OCI runtime. */
export interface TerminalListener {
  /**
   * Resolves with the descriptor of our end, which the caller closes. `programEnded` aborts when the program has ended: what
   * it has sent by then is still received, and otherwise the call rejects. The socket is closed and removed in any case.
   */
  receive(programEnded: AbortSignal): Promise<number>;
}

/** The caller must call `receive`. */
export function openTerminalListener(path: string): TerminalListener {
  const fd = listenAt(path);
  return {
    receive: async (programEnded) => {
      try {
        await untilHangUpOrData(fd, programEnded).catch(() => {});
        return await receiveFrom(fd, programEnded);
      } finally {
        closeSync(fd);
        rmSync(path, { force: true });
      }
    },
  };
}

function listenAt(path: string): number {
  using short = shortUnixAddress(path);
  const fd = socket(AF_UNIX, SOCK_STREAM | CLOSE_ON_EXEC | NON_BLOCKING, 0);
  try {
    bind(fd, short.address, short.address.byteLength);
    listen(fd, 1);
    return fd;
  } catch (error) {
    closeSync(fd);
    throw error;
  }
}

async function receiveFrom(listener: number, programEnded: AbortSignal): Promise<number> {
  const connection = accept(listener, CLOSE_ON_EXEC | NON_BLOCKING);
  try {
    await untilHangUpOrData(connection, programEnded).catch(() => {});
    const fd = receiveDescriptor(connection);
    if (fd === undefined) throw new Error('the program sent no terminal');
    return fd;
  } finally {
    closeSync(connection);
  }
}
