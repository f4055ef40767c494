import { Buffer } from 'node:buffer';
import { type FileSystem, FileSystemError } from '../../host/file-system.ts';
import { logText } from '../logs/log-text.ts';
import { missingLogMessage } from '../logs/missing-log.ts';
import { readLogs } from '../logs/read-logs.ts';
import type { ObservedContainer } from '../pod/observed-pod.ts';

/** kubelet's limits for the message file and for the log tail that replaces it. */
const FILE_BYTES = 4096;
const LOG_BYTES = 2048;
const LOG_TAIL = { count: 80, of: 'entries' } as const;

const LOG_FAILURE = 'Error on reading termination message from logs';

/** Go's texts for system call errors. */
const GO_ERRORS: ReadonlyMap<string, string> = new Map([
  ['EACCES', 'open PATH: permission denied'],
  ['EIO', 'read PATH: input/output error'],
  ['EISDIR', 'read PATH: is a directory'],
  ['ELOOP', 'open PATH: too many levels of symbolic links'],
  ['ENOTDIR', 'open PATH: not a directory'],
  ['ENXIO', 'open PATH: no such device or address'],
  ['EPERM', 'open PATH: operation not permitted'],
]);

/**
 * The termination message of an exited container: the end of its message file, or, with `FallbackToLogsOnError` after a
 * failure without a message, the end of its log. Empty when there is neither. Read errors become the message, in
 * kubelet's words.
 */
export async function terminationMessage(
  container: ObservedContainer,
  fs: FileSystem,
  signal: AbortSignal,
): Promise<string> {
  const { terminationMessageFile, terminationMessagePolicy, logPath } = container;
  const message = terminationMessageFile === undefined ? '' : await readFileTail(terminationMessageFile, fs);
  const failed = container.state === 'exited' && container.exitCode !== 0 && container.reason !== 'ContainerCannotRun';
  if (message !== '' || !failed || terminationMessagePolicy !== 'FallbackToLogsOnError') return message;
  return readLogTail(logPath, fs, signal);
}

/** The container controls the file: symbolic links are not followed, and opening a pipe does not block. */
async function readFileTail(path: string, fs: FileSystem): Promise<string> {
  try {
    await using file = await fs.openFile(path, { followLink: false });
    const { size } = await file.stat();
    return text(await file.read(Math.max(0, size - FILE_BYTES), FILE_BYTES));
  } catch (error) {
    if (!(error instanceof FileSystemError)) throw error;
    return error.code === 'ENOENT' ? '' : `Error on reading termination log ${path}: ${formatGoError(error, path)}`;
  }
}

async function readLogTail(path: string, fs: FileSystem, signal: AbortSignal): Promise<string> {
  if (path === '') return '';
  const missing = await missingLogMessage(path, fs);
  if (missing !== undefined) return `${LOG_FAILURE}: ${missing}`;
  try {
    let end: Uint8Array = new Uint8Array();
    const lines = readLogs({ fs }, path, { follow: false, tail: LOG_TAIL }, signal);
    for await (const bytes of logText(lines, { timestamps: false })) {
      end = Buffer.concat([end, bytes.subarray(-LOG_BYTES)]).subarray(-LOG_BYTES);
    }
    return text(end);
  } catch (error) {
    if (!(error instanceof FileSystemError)) throw error;
    return `${LOG_FAILURE}: failed to open log file ${JSON.stringify(path)}: ${formatGoError(error, path)}`;
  }
}

function formatGoError({ code }: FileSystemError, path: string): string {
  return (GO_ERRORS.get(code) ?? `read PATH: ${code}`).replace('PATH', () => path);
}

function text(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString('utf8');
}
