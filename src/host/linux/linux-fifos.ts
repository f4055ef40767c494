import { close, constants, open as openCallback, readSync, writeSync } from 'node:fs';
import { Socket } from 'node:net';
import { promisify } from 'node:util';
import type { Fifos } from '../fifos.ts';
import { FileSystemError } from '../file-system.ts';
import { errnoCode } from './errno-code.ts';

const open = promisify(openCallback);

/** FIFOs of the machine, by the event loop's own descriptors: no thread waits for one. */
export const linuxFifos: Fifos = { untilEnd, write };

async function untilEnd(path: string, signal: AbortSignal): Promise<void> {
  signal.throwIfAborted();
  const fd = await openUnless('ENOENT', path, constants.O_RDONLY | constants.O_NONBLOCK);
  if (fd === undefined) return;
  // epoll(7) tells only of writers that go after we have come, so the state of now is asked for.
  if (!hasWriter(fd, path)) {
    close(fd);
    return;
  }
  const fifo = new Socket({ fd, readable: true, writable: false }); // owns the descriptor from here on
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  const onAbort = (): void => reject(signal.reason);
  signal.addEventListener('abort', onAbort, { once: true });
  if (signal.aborted) onAbort();
  fifo.on('end', resolve).on('close', () => resolve());
  fifo.on('error', (error) => reject(new FileSystemError(errnoCode(error) ?? 'EIO', 'read', path, { cause: error })));
  fifo.resume();
  try {
    await promise;
  } finally {
    signal.removeEventListener('abort', onAbort);
    fifo.destroy();
  }
}

/** Closes the descriptor when it throws. */
function hasWriter(fd: number, path: string): boolean {
  try {
    return readSync(fd, new Uint8Array(1)) > 0;
  } catch (error) {
    if (errnoCode(error) === 'EAGAIN') return true;
    close(fd);
    throw new FileSystemError(errnoCode(error) ?? 'EIO', 'read', path, { cause: error });
  }
}

async function write(path: string, data: string): Promise<boolean> {
  const fd = await openUnless('ENXIO', path, constants.O_WRONLY | constants.O_NONBLOCK);
  if (fd === undefined) return false;
  try {
    writeSync(fd, data); // up to 4096 bytes go in one piece or not at all
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
