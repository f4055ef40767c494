import type { CommandResult, MonitorOutput } from '../../host/processes.ts';

/** conmon's first line: the PID of the container's first process, or an error. */
export type MonitorReport =
  | { readonly kind: 'created'; readonly pid: number }
  | { readonly kind: 'failed'; readonly reason: string };

export function parseMonitorReport({ line, stderr }: MonitorOutput): MonitorReport {
  const answer = parseLine(line);
  const { data, message } = answer;
  if (typeof data === 'number' && data > 0) return { kind: 'created', pid: data };
  if (typeof message === 'string' && message.trim() !== '') return { kind: 'failed', reason: lastErrorLine(message) };
  const text = lastErrorLine(stderr);
  return { kind: 'failed', reason: text === '' ? 'the monitor exited without a message' : text };
}

function parseLine(line: string): { readonly data?: unknown; readonly message?: unknown } {
  try {
    const value: unknown = JSON.parse(line);
    return typeof value === 'object' && value !== null ? value : {};
  } catch {
    return {};
  }
}

const LOGFMT_MESSAGE = /\blevel=(error|fatal)\b.*?\bmsg="((?:[^"\\]|\\.)*)"/;
const RUNTIME_PREFIX = /^(?:runc (?:create|run) failed: |exec failed: )?(?:unable to start container process: )?/;

/** Returns why a program failed: its last error line, or its exit code. */
export function failureText({ exitCode, stderr }: Pick<CommandResult, 'exitCode' | 'stderr'>): string {
  return lastErrorLine(new TextDecoder().decode(stderr)) || `exited with code ${exitCode} without a message`;
}

/** Returns the last error message of a runtime, without its logging prefix. */
export function lastErrorLine(text: string): string {
  const lines = text.split(/\r?\n/).filter((line) => line.trim() !== '');
  const errors = lines.filter((line) => LOGFMT_MESSAGE.test(line));
  return plainText((errors.length > 0 ? errors : lines).at(-1) ?? '');
}

function plainText(line: string): string {
  const quoted = LOGFMT_MESSAGE.exec(line)?.[2];
  const message = quoted === undefined ? line.replace(/^\[conmon:[a-z]\]: /, '') : unquoted(quoted);
  return message.replace(RUNTIME_PREFIX, '').trim();
}

function unquoted(text: string): string {
  return text.replaceAll(/\\(.)/g, (_, char: string) => (char === 'n' ? '\n' : char));
}
