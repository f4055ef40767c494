import { close, closeSync, constants, open as openCallback, openSync, writeSync } from 'node:fs';
import { promisify } from 'node:util';
import type { Fifos } from '../../fifos.ts';
import { FileSystemError } from '../../file-system.ts';
import { errnoCode } from '../sys/errno-code.ts';

const open = promisify(openCallback);

/** FIFOs of the machine, polled by the event loop: no thread blocks on one. */
export const linuxFifos: Fifos = { untilWritersClose, write };

async function untilWritersClose(path: string, signal: AbortSignal): Promise<void> {
  signal.throwIfAborted();
  const fd = await openUnless('ENOENT', path, constants.O_RDONLY | constants.O_NONBLOCK);
  if (fd === undefined) return;
  try {
    openAndCloseWriter(fd, path);
    const { untilHangUp } = await import('../sys/descriptor-stream.ts');
    await untilHangUp(fd, signal);
  } finally {
    close(fd);
  }
}

/** The kernel reports a hang-up to a reader only if there was a writer since the reader opened the FIFO. */
function openAndCloseWriter(fd: number, path: string): void {
  try {
    closeSync(openSync(`/proc/self/fd/${fd}`, constants.O_WRONLY | constants.O_NONBLOCK));
  } catch (error) {
    throw new FileSystemError(errnoCode(error) ?? 'EIO', 'open', path, { cause: error });
  }
}

async function write(path: string, data: string): Promise<boolean> {
  const fd = await openUnless('ENXIO', path, constants.O_WRONLY | constants.O_NONBLOCK);
  if (fd === undefined) return false;
  try {
    writeSync(fd, data); // up to 4096 bytes are written atomically
    return true;
  } catch (error) {
    if (errnoCode(error) === 'EPIPE') return false;
    throw new FileSystemError(errnoCode(error) ?? 'EIO', 'write', path, { cause: error });
  } finally {
    close(fd);
  }
}

async function openUnless(code: 'ENOENT' | 'ENXIO', path: string, flags: number): Promise<number | undefined> {
  try {
    return await open(path, flags);
  } catch (error) {
    const found = errnoCode(error);
    if (found === code || found === 'ENOENT') return undefined;
    throw new FileSystemError(found ?? 'EIO', 'open', path, { cause: error });
  }
}
