import { existsSync } from 'node:fs';
import { type FileHandle, open } from 'node:fs/promises';
import { join } from 'node:path';
import { FileSystemError } from '../../file-system.ts';
import type { PressureEvents, StallLimits } from '../../pressure-events.ts';
import { errnoCode } from '../sys/errno-code.ts';

const EPOLLPRI = 2;
const STALL_FILE = '/proc/pressure/memory';
/** No such file, or the kernel was started without pressure stall information. */
const NO_STALLS = ['ENOENT', 'EOPNOTSUPP', 'ENOTSUP', 'EPERM', 'EACCES'];

/** Only version 1 reports usage. The version is detected by a file that only the root of a version 2 tree has. */
export function createLinuxPressureEvents({
  root = '/sys/fs/cgroup',
}: {
  readonly root?: string;
} = {}): PressureEvents {
  const isV2 = existsSync(join(root, 'cgroup.controllers'));
  return {
    watchUsage: async (cgroup, bytes, onCrossed, signal) =>
      !isV2 && watchUsage(join(root, 'memory', cgroup), bytes, onCrossed, signal),
    watchStalls,
  };
}

/** `<eventfd> <file> <bytes>` in cgroup.event_control; closing the eventfd ends the registration. */
async function watchUsage(folder: string, bytes: number, onCrossed: () => void, signal: AbortSignal): Promise<true> {
  const [{ openEventfd }, { openDescriptorStream }] = await Promise.all([
    import('../sys/event-calls.ts'),
    import('../sys/descriptor-stream.ts'),
  ]);
  await using usage = await openFile(join(folder, 'memory.usage_in_bytes'), 'r');
  await using control = await openFile(join(folder, 'cgroup.event_control'), 'w');
  if (signal.aborted) return true;
  const fd = openEventfd();
  const stream = openDescriptorStream(fd, { readable: true, writable: false });
  const end = (): void => void stream.destroy();
  try {
    await control.write(`${fd} ${usage.fd} ${bytes}`);
  } catch (error) {
    end();
    throw new FileSystemError(errnoCode(error) ?? 'EIO', 'watch', folder, { cause: error });
  }
  stream.on('data', onCrossed);
  stream.on('error', end);
  stream.on('close', () => signal.removeEventListener('abort', end));
  signal.addEventListener('abort', end, { once: true });
  if (signal.aborted) end();
  return true;
}

/** A trigger lives as long as its file is open; poll(2) reports it as priority data. */
async function watchStalls(
  { stallMs, windowMs }: StallLimits,
  onStall: () => void,
  signal: AbortSignal,
): Promise<boolean> {
  const [{ openEpoll }, { untilReady }] = await Promise.all([
    import('../sys/event-calls.ts'),
    import('../sys/descriptor-stream.ts'),
  ]);
  let file: FileHandle | undefined;
  try {
    file = await open(STALL_FILE, 'r+');
    await file.write(`some ${stallMs * 1000} ${windowMs * 1000}\0`);
  } catch (error) {
    await file?.close();
    if (NO_STALLS.includes(errnoCode(error) ?? '')) return false;
    throw error;
  }
  const trigger = file;
  const watch = async (): Promise<void> => {
    try {
      while (!signal.aborted) {
        await untilReady(openEpoll(trigger.fd, EPOLLPRI), signal);
        if (!signal.aborted) onStall();
      }
    } catch (error) {
      if (!signal.aborted) throw error;
    } finally {
      await trigger.close();
    }
  };
  void watch().catch(() => undefined); // the machine has no descriptors left: the caller polls as well
  return true;
}

async function openFile(path: string, flags: string): Promise<FileHandle> {
  try {
    return await open(path, flags);
  } catch (error) {
    throw new FileSystemError(errnoCode(error) ?? 'EIO', 'watch', path, { cause: error });
  }
}
