import type { Finished, MonitorWords } from '../../host/processes.ts';

/** What conmon's first line says: the number of the container's process, or why there is none. */
export type MonitorAnswer =
  | { readonly kind: 'created'; readonly pid: number }
  | { readonly kind: 'failed'; readonly reason: string };

export function readMonitorAnswer({ line, stderr }: MonitorWords): MonitorAnswer {
  const answer = parsed(line);
  const { data, message } = answer;
  if (typeof data === 'number' && data > 0) return { kind: 'created', pid: data };
  if (typeof message === 'string' && message.trim() !== '') return { kind: 'failed', reason: lastWords(message) };
  const words = lastWords(stderr);
  return { kind: 'failed', reason: words === '' ? 'the monitor ended without a word' : words };
}

function parsed(line: string): { readonly data?: unknown; readonly message?: unknown } {
  try {
    const value: unknown = JSON.parse(line);
    return typeof value === 'object' && value !== null ? value : {};
  } catch {
    return {};
  }
}

const LOGFMT_MESSAGE = /\blevel=(error|fatal)\b.*?\bmsg="((?:[^"\\]|\\.)*)"/;
const RUNTIME_PREFIX = /^(?:runc (?:create|run) failed: |exec failed: )?(?:unable to start container process: )?/;

/** Why a program that ended with a code other than 0 did so: what it said, or that it said nothing. */
export function faultOf({ exitCode, stderr }: Pick<Finished, 'exitCode' | 'stderr'>): string {
  return lastWords(new TextDecoder().decode(stderr)) || `ended with exit code ${exitCode} without a word`;
}

/** The last thing that a runtime had to say, without what is only for its own log. */
export function lastWords(text: string): string {
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
