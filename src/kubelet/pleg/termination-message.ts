import { Buffer } from 'node:buffer';
import { type FileSystem, FileSystemError } from '../../host/file-system.ts';
import { logText } from '../logs/log-text.ts';
import { missingLogMessage } from '../logs/missing-log.ts';
import { readLogs } from '../logs/read-logs.ts';
import type { ObservedContainer } from '../pod/observed-pod.ts';

/** kubelet's limits: of the message file, and of what is taken from the log in its place. */
const FILE_BYTES = 4096;
const LOG_BYTES = 2048;
const LOG_TAIL = { count: 80, of: 'entries' } as const;

const LOG_FAILURE = 'Error on reading termination message from logs';

/** As Go words what the kernel refuses. */
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
 * What an ended container wants to be known for: the end of its termination message file; with the policy
 * `FallbackToLogsOnError`, after a failure without such a message, the end of its log. Empty when there is neither.
 * A file that cannot be read is told in the message, in kubelet's words.
 */
export async function terminationMessage(
  container: ObservedContainer,
  fs: FileSystem,
  signal: AbortSignal,
): Promise<string> {
  const { terminationMessageFile, terminationMessagePolicy, logPath } = container;
  const said = terminationMessageFile === undefined ? '' : await readFileTail(terminationMessageFile, fs);
  const failed = container.state === 'exited' && container.exitCode !== 0 && container.reason !== 'ContainerCannotRun';
  if (said !== '' || !failed || terminationMessagePolicy !== 'FallbackToLogsOnError') return said;
  return readLogTail(logPath, fs, signal);
}

/** The container may have put anything there: a link leads nowhere, and nobody waits for the writer of a pipe. */
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
