import { errorText } from '../../../base/error-text.ts';
import { type Processes, ProcessStartError } from '../../../host/processes.ts';
import { CausedError } from '../../pod/pod-cause.ts';

/** Programs report errors in a few lines. */
const MAX_OUTPUT_BYTES = 1024 * 1024;

/** A program that was run to its end. */
export interface ProgramResult {
  readonly exitCode: number;
  /** Standard output, then standard error. */
  readonly output: string;
}

/** The program of the host is not installed or cannot be started. Its message is Go's. */
export class ProgramError extends CausedError {
  override readonly name = 'ProgramError';
}

/** Runs a program of the host. Rejects with a `ProgramError` if it cannot be started. */
export async function runProgram(
  processes: Processes,
  program: string,
  args: readonly string[],
  signal: AbortSignal,
): Promise<ProgramResult> {
  try {
    const result = await processes.run({ program, args, maxOutputBytes: MAX_OUTPUT_BYTES }, signal);
    const decoder = new TextDecoder();
    return { exitCode: result.exitCode, output: decoder.decode(result.stdout) + decoder.decode(result.stderr) };
  } catch (cause) {
    if (!(cause instanceof ProcessStartError)) throw cause;
    if (cause.code !== 'ENOENT') throw new ProgramError(errorText(cause), undefined, { cause });
    const message = `exec: "${program}": executable file not found in $PATH`;
    throw new ProgramError(message, { kind: 'programMissing', program }, { cause });
  }
}

/** Go's text for an exit code. */
export function exitText({ exitCode }: ProgramResult): string {
  return `exit status ${exitCode}`;
}
