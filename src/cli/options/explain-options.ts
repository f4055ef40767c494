import { type Command, Option } from 'commander';
import { type ClientFlags, clientCommand } from './client-options.ts';
import type { Commands } from './commands.ts';

type Ended = (exitCode: number) => void;

interface ExplainFlags extends ClientFlags {
  readonly output?: 'json';
}

const WHY_HELP = `
Says what the pod waits for, since when, and what the last errors were.

Example:
  nodelet why hello
`;

const TIMELINE_HELP = `
Shows when each step began, how long it took, and what was waited for in between.

Example:
  nodelet timeline hello
`;

/** `nodelet why` */
export function addWhy(program: Command, { why }: Commands, ended: Ended): void {
  explainCommand(program, 'why', 'Say why a pod is where it is.')
    .addHelpText('after', WHY_HELP)
    .action(async (pod: string, { state: stateDir, namespace, output }: ExplainFlags) => {
      ended(await why({ stateDir, namespace, pod, output: output ?? 'text' }));
    });
}

/** `nodelet timeline` */
export function addTimeline(program: Command, { timeline }: Commands, ended: Ended): void {
  explainCommand(program, 'timeline', 'Show the steps that were done for a pod.')
    .addHelpText('after', TIMELINE_HELP)
    .action(async (pod: string, { state: stateDir, namespace, output }: ExplainFlags) => {
      ended(await timeline({ stateDir, namespace, pod, output: output ?? 'text' }));
    });
}

function explainCommand(program: Command, name: string, description: string): Command {
  return clientCommand(program, name)
    .description(description)
    .argument('<pod>', 'NAME or NAMESPACE/NAME; the name in the manifest will do')
    .addOption(new Option('-o, --output <format>', 'for programs').choices(['json']));
}
