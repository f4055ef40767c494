import { constants, openSync } from 'node:fs';
import type { Socket } from 'node:net';
import { type KernelLog, type KernelRecord, parseKernelRecord } from '../../kernel-log.ts';
import { errnoCode } from '../sys/errno-code.ts';

const KERNEL_LOG = '/dev/kmsg';

/** /dev/kmsg: each read(2) returns one record, and fails with EPIPE where records were overwritten before they were read. */
export function createLinuxKernelLog(path = KERNEL_LOG): KernelLog {
  return {
    async *records(signal) {
      while (!signal.aborted) {
        const stream = await openAtEnd(path);
        const stop = (): void => void stream.destroy();
        signal.addEventListener('abort', stop, { once: true });
        if (signal.aborted) stop();
        try {
          yield* recordsOf(stream);
          return;
        } catch (error) {
          if (signal.aborted) return;
          if (errnoCode(error) !== 'EPIPE') throw error;
        } finally {
          signal.removeEventListener('abort', stop);
          stream.destroy();
        }
      }
    },
  };
}

async function openAtEnd(path: string): Promise<Socket> {
  const [{ openDescriptorStream }, { seekToEnd }] = await Promise.all([
    import('../sys/descriptor-stream.ts'),
    import('../sys/file-calls.ts'),
  ]);
  const fd = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
  seekToEnd(fd);
  return openDescriptorStream(fd, { readable: true, writable: false });
}

/** Lines that begin with a space belong to the record before them. */
async function* recordsOf(stream: Socket): AsyncGenerator<KernelRecord> {
  let rest = '';
  for await (const chunk of stream) {
    const lines = `${rest}${String(chunk)}`.split('\n');
    rest = lines.pop() ?? '';
    for (const line of lines) {
      const record = parseKernelRecord(line);
      if (record) yield record;
    }
  }
}
