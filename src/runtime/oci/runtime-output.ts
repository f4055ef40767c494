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

/** A process can write any text to the same standard error; only the end of it is searched. */
const MAX_SEARCHED = 64 * 1024;
const MAX_REASON = 4096;
const ERROR_LEVEL = /\blevel=(?:error|fatal)\b/;
const RUNTIME_PREFIX = /^(?:runc (?:create|run) failed: |exec failed: )?(?:unable to start container process: )?/;

/** Returns why a program failed: its last error line, or its exit code. */
export function failureText({ exitCode, stderr }: Pick<CommandResult, 'exitCode' | 'stderr'>): string {
  return lastErrorLine(new TextDecoder().decode(stderr)) || `exited with code ${exitCode} without a message`;
}

/** Returns the last error message of a runtime, without its logging prefix. */
export function lastErrorLine(text: string): string {
  const lines = text
    .slice(-MAX_SEARCHED)
    .split(/\r?\n/)
    .filter((line) => line.trim() !== '');
  const error = lines.findLast((line) => quotedMessage(line) !== undefined);
  const reason = plainText(error ?? lines.at(-1) ?? '');
  return reason.length > MAX_REASON ? `${reason.slice(0, MAX_REASON)}…` : reason;
}

/**
 * The text in quotes of `level=error … msg="…"`, with its escapes. Each character is looked at a few times at most: a regular
 * expression for all of it takes quadratic time for lines that contain its beginning many times.
 */
function quotedMessage(line: string): string | undefined {
  const level = ERROR_LEVEL.exec(line);
  if (level === null) return undefined;
  const key = /\bmsg="/g;
  key.lastIndex = level.index + level[0].length;
  if (key.exec(line) === null) return undefined;
  const start = key.lastIndex;
  for (let at = start; at < line.length; at++) {
    if (line[at] === '"') return line.slice(start, at);
    if (line[at] === '\\') at++;
  }
  return undefined;
}

function plainText(line: string): string {
  const quoted = quotedMessage(line);
  const message = quoted === undefined ? line.replace(/^\[conmon:[a-z]\]: /, '') : unquoted(quoted);
  return message.replace(RUNTIME_PREFIX, '').trim();
}

function unquoted(text: string): string {
  return text.replaceAll(/\\(.)/g, (_, char: string) => (char === 'n' ? '\n' : char));
}
