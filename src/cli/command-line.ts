import { CommanderError } from 'commander';
import { errorText } from '../base/error-text.ts';
import { ExpectedError } from '../base/expected-error.ts';
import { NoAgentError } from '../kubelet/local-api/local-client.ts';
import { commandRegistry } from './command-registry.ts';
import type { RegisteredCommand } from './commands/cli-command.ts';
import type { CommandContext } from './commands/command-context.ts';
import { CommandError, EXIT } from './options/command-error.ts';
import { buildProgram } from './program.ts';

/** Runs one command line, reports its errors, and resolves to the exit code of the process. */
export async function runCommandLine(
  args: readonly string[],
  context: CommandContext,
  commands: readonly RegisteredCommand[] = commandRegistry(),
): Promise<number> {
  const { stdout, stderr } = context.terminal;
  const writes: Promise<void>[] = [];
  const output = {
    out: (text: string) => void writes.push(stdout.write(text)),
    err: (text: string) => void writes.push(stderr.write(text)),
  };
  let exitCode: number = EXIT.ok;
  const program = buildProgram(commands, context, output, (code) => {
    exitCode = code;
  });
  try {
    await program.parseAsync(args, { from: 'user' });
    await Promise.all(writes);
    return exitCode;
  } catch (error) {
    await Promise.allSettled(writes);
    return failureCode(error, args, context);
  }
}

async function failureCode(error: unknown, args: readonly string[], { terminal }: CommandContext): Promise<number> {
  if (isBrokenPipe(error)) return EXIT.failed; // `nodelet logs … | head`: stdout is closed
  // Commander has reported the error, or has printed the requested help.
  if (error instanceof CommanderError) return error.exitCode === 0 ? EXIT.ok : EXIT.badInput;
  const command = args.find((arg) => !arg.startsWith('-')) ?? '';
  const name = error instanceof NoAgentError ? 'nodelet' : `nodelet ${command}`;
  if (error instanceof ExpectedError) {
    await terminal.stderr.write(`${name}: ${errorText(error)}\n`);
    return error instanceof CommandError ? error.exitCode : EXIT.failed;
  }
  await terminal.stderr.write(`${name}: ${error instanceof Error ? (error.stack ?? error.message) : String(error)}\n`);
  return EXIT.failed;
}

function isBrokenPipe(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === 'EPIPE';
}
