import { CommanderError } from 'commander';
import { errorText } from '../base/error-text.ts';
import { NoAgentError } from '../kubelet/local-api/local-client.ts';
import type { CommandContext } from './commands/command-context.ts';
import { CommandError, EXIT } from './options/command-error.ts';
import type { Commands } from './options/commands.ts';
import { buildProgram } from './program.ts';

/** Failures whose message says it all; by name, since loading their modules would load what they belong to. */
const TOLD_WITHOUT_TRACE: ReadonlySet<string> = new Set([
  'ApiError',
  'CheckpointError',
  'CommandError',
  'CriError',
  'FileSystemError',
  'NetworkError',
  'NoAgentError',
  'ProviderConfigError',
  'RuntimeStartError',
]);

/** Runs one command line and resolves to the exit code of the process. What is wrong has been told by then. */
export async function runCommandLine(args: readonly string[], context: CommandContext): Promise<number> {
  return runWith(commandsOf(context), args, context);
}

/** The same with other commands behind the command line. */
export async function runWith(commands: Commands, args: readonly string[], context: CommandContext): Promise<number> {
  const { stdout, stderr } = context.terminal;
  const writes: Promise<void>[] = [];
  const output = {
    out: (text: string) => void writes.push(stdout.write(text)),
    err: (text: string) => void writes.push(stderr.write(text)),
  };
  let exitCode: number = EXIT.ok;
  const program = buildProgram(commands, output, (code) => {
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
  if (isBrokenPipe(error)) return EXIT.failed; // `nodelet logs … | head`: nobody is left to tell
  // Commander has told what is wrong, or has shown the help that was asked for.
  if (error instanceof CommanderError) return error.exitCode === 0 ? EXIT.ok : EXIT.badInput;
  const command = args.find((arg) => !arg.startsWith('-')) ?? '';
  const isForUser = error instanceof Error && TOLD_WITHOUT_TRACE.has(error.name);
  const name = error instanceof NoAgentError ? 'nodelet' : `nodelet ${command}`;
  if (isForUser) {
    await terminal.stderr.write(`${name}: ${errorText(error)}\n`);
    return error instanceof CommandError ? error.exitCode : EXIT.failed;
  }
  await terminal.stderr.write(`${name}: ${error instanceof Error ? (error.stack ?? error.message) : String(error)}\n`);
  return EXIT.failed;
}

function isBrokenPipe(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === 'EPIPE';
}

/** Each command is loaded when it is called: `nodelet ps` needs no gRPC. */
function commandsOf(context: CommandContext): Commands {
  return {
    run: async (options) => {
      const [{ runCommand }, { createLocalAgentFactory: localWiring }] = [
        await import('./commands/run-command.ts'),
        await import('../app/local-agent-factory.ts'),
      ];
      return runCommand(options, context, localWiring);
    },
    ps: async (options) => (await import('./commands/ps-command.ts')).psCommand(options, context),
    logs: async (options) => (await import('./commands/logs-command.ts')).logsCommand(options, context),
    why: async (options) => (await import('./commands/why-command.ts')).whyCommand(options, context),
    timeline: async (options) => (await import('./commands/timeline-command.ts')).timelineCommand(options, context),
    exec: async (options) => (await import('./commands/exec-command.ts')).execCommand(options, context),
    stop: async (options) => (await import('./commands/stop-command.ts')).stopCommand(options, context),
    kubelet: async (flags) => (await import('./commands/kubelet-command.ts')).kubeletCommand(flags, context),
    cri: async (options) => (await import('./commands/cri-command.ts')).criCommand(options, context),
    image: async (options) => (await import('./commands/image-command.ts')).imageCommand(options, context),
    version: async () => {
      await context.terminal.stdout.write(`nodelet ${context.version}\n`);
      return EXIT.ok;
    },
  };
}
