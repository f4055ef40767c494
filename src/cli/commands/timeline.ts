import { type ExplainFlags, type ExplainOptions, explainCommand } from '../options/explain-options.ts';
import type { CliCommand } from './cli-command.ts';

const TIMELINE_HELP = `
Shows when each step started, how long it took, and what the pod waited for in between.

Example:
  nodelet timeline hello
`;

export const timeline: CliCommand<ExplainOptions> = {
  name: 'timeline',
  define(program, run) {
    explainCommand(program, 'timeline', 'Show the steps of a pod.')
      .addHelpText('after', TIMELINE_HELP)
      .action(async (pod: string, { state: stateDir, namespace, output }: ExplainFlags) => {
        await run({ stateDir, namespace, pod, output: output ?? 'text' });
      });
  },
  execute: async (options, context) => (await import('./timeline-command.ts')).timelineCommand(options, context),
};
