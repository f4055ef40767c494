import { Buffer } from 'node:buffer';
import type { FileSystem } from '../../host/file-system.ts';
import { readLogs } from '../containers/read-logs.ts';
import type { ObservedContainer } from './observed-pod.ts';

/** kubelet's limits: of the message file, and of what is taken from the log in its place. */
const FILE_BYTES = 4096;
const LOG_BYTES = 2048;
const LOG_LINES = 80;

/**
 * What an ended container wants to be known for: the end of its termination message file; with the policy
 * `FallbackToLogsOnError`, after a failure without such a message, the end of its log. Empty when there is neither.
 */
export async function terminationMessage(
  container: ObservedContainer,
  fs: FileSystem,
  signal: AbortSignal,
): Promise<string> {
  const { terminationMessageFile, terminationMessagePolicy } = container;
  const said = terminationMessageFile === undefined ? '' : await endOfFile(terminationMessageFile, fs);
  const failed = container.state === 'exited' && container.exitCode !== 0;
  if (said !== '' || !failed || terminationMessagePolicy !== 'FallbackToLogsOnError') return said;
  return endOfLog(container.logPath, fs, signal);
}

async function endOfFile(path: string, fs: FileSystem): Promise<string> {
  const stat = await fs.stat(path);
  if (!stat) return '';
  return text(await fs.readRange(path, Math.max(0, stat.size - FILE_BYTES), FILE_BYTES));
}

async function endOfLog(path: string, fs: FileSystem, signal: AbortSignal): Promise<string> {
  const lines: string[] = [];
  const options = { follow: false, tailLines: LOG_LINES };
  for await (const line of readLogs({ fs }, path, options, signal)) lines.push(`${line.text}\n`);
  return text(Buffer.from(lines.join('')).subarray(-LOG_BYTES));
}

function text(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString('utf8');
}
