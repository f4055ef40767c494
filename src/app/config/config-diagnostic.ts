/** Something about the configuration that its author should know. */
export interface ConfigDiagnostic {
  /** With an error the program does not start; after a warning it goes on without what is named. */
  readonly severity: 'warning' | 'error';
  /** Absent for flags and for what only the whole configuration shows. */
  readonly file?: string;
  /** From 1. */
  readonly line?: number;
  /** From 1. */
  readonly column?: number;
  /** The field or the flag: `evictionHard["memory.available"]`, `--max-pods`. */
  readonly path?: string;
  readonly message: string;
}

/**
 * One line: `/etc/kubelet.yaml:3:10: maxPods: expected …`. The severity is left to who prints it, and a flag is left out
 * where the message names it.
 */
export function formatDiagnostic({ file, line, column, path, message }: ConfigDiagnostic): string {
  const place = [file, line, column].filter((part) => part !== undefined).join(':');
  const named = path?.startsWith('-') && message.includes(path) ? '' : (path ?? '');
  return [place, named, message].filter((part) => part !== '').join(': ');
}

export function warningAt(path: string, message: string): ConfigDiagnostic {
  return { severity: 'warning', path, message };
}

export function errorAt(path: string, message: string): ConfigDiagnostic {
  return { severity: 'error', path, message };
}
