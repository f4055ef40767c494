import { Command } from 'commander';
import type { RegisteredCommand } from './commands/cli-command.ts';
import type { CommandContext } from './commands/command-context.ts';

const OVERVIEW = `
Examples:
  nodelet run pod.yaml            run the pods of a manifest until Ctrl-C
  nodelet ps                      list them, from another terminal
  nodelet logs -f hello -c web    follow the log of a container
  nodelet why hello               why a pod is not ready
  nodelet exec -it hello -- sh    a shell in a container
  nodelet stop hello              stop a pod
  nodelet image pull busybox      pull an image
  nodelet volume ls               list the volumes of claims

Exit codes:
  0   done
  1   failure: a pod, the runtime, or no agent is running
  2   wrong usage or invalid input
  70  a bug in nodelet
  'exec' exits with the code of its command; 127 not found, 126 not executable.
`;

export interface ProgramOutput {
  out(text: string): void;
  err(text: string): void;
}

/** The command line. Wrong usage throws a `CommanderError` after it was reported to the user. */
export function buildProgram(
  commands: readonly RegisteredCommand[],
  context: CommandContext,
  output: ProgramOutput,
  executed: (exitCode: number) => void,
): Command {
  const program = new Command('nodelet')
    .description('Kubernetes pods on this machine: a node agent, with or without a cluster.')
    .enablePositionalOptions() // arguments after 'kubelet' are kubelet's own
    .configureOutput({ writeOut: output.out, writeErr: output.err })
    .exitOverride()
    .addHelpText('after', OVERVIEW);
  for (const command of commands) command.register(program, context, executed);
  return program;
}
