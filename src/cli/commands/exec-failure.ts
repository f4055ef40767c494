/** A command that could not be executed: the exit code is a shell's, 127 not found, 126 found and not executable. */
export interface ExecFailure {
  readonly message: string;
  readonly exitCode: 126 | 127;
}

/** The prefix that streaming servers of runtimes add to the message of the OCI runtime. */
const PREFIX = /^.*error executing command in container: (?:failed to exec in container: )?/s;

/**
 * Messages of runc (`exec: "ls": …`, `exec /bin/ls: …`) and crun (`executable file …`) about the program, as containerd and
 * conmon pass them on. Messages about a missing working directory differ.
 */
const NOT_FOUND = [
  /\bexecutable file (?:`[^`]*` )?not found(?: in \$PATH)?/,
  /\bexec:? "?[^":]+"?: (?:stat [^:]*: )?no such file or directory/i,
];
const NOT_EXECUTABLE = [
  /\bexec:? "?[^":]+"?: (?:stat [^:]*: )?(?:permission denied|is a directory|exec format error)/i,
  /\bexec(?:ve|utable)?\b[^:]*: (?:permission denied|exec format error|is a directory)/i,
  /\bexists but it is not executable/,
];

/** Why a program could not be executed; `undefined` for any other error. */
export function execFailure(failure: string, [program = '']: readonly string[]): ExecFailure | undefined {
  const words = failure.replace(PREFIX, '');
  const exitCode = [[NOT_FOUND, 127] as const, [NOT_EXECUTABLE, 126] as const].find(([patterns]) =>
    patterns.some((pattern) => pattern.test(words)),
  )?.[1];
  if (exitCode === undefined || words === failure) return undefined;
  const reason = exitCode === 127 ? notFoundText(program) : notExecutableText(words);
  return { message: `cannot execute ${JSON.stringify(program)}: ${reason}`, exitCode };
}

function notFoundText(program: string): string {
  return program.includes('/') ? 'no such file or directory' : 'executable file not found in $PATH';
}

function notExecutableText(words: string): string {
  if (/exec format error/i.test(words)) return 'exec format error';
  return /is a directory/i.test(words) ? 'is a directory' : 'permission denied';
}
