import { type ExplainFlags, type ExplainOptions, explainCommand } from '../options/explain-options.ts';
import type { CliCommand } from './cli-command.ts';

const WHY_HELP = `
Prints what the pod waits for, since when, and its last errors.

Example:
  nodelet why hello
`;

export const why: CliCommand<ExplainOptions> = {
  name: 'why',
  define(program, run) {
    explainCommand(program, 'why', 'Explain the state of a pod.')
      .addHelpText('after', WHY_HELP)
      .action(async (pod: string, { state: stateDir, namespace, output }: ExplainFlags) => {
        await run({ stateDir, namespace, pod, output: output ?? 'text' });
      });
  },
  execute: async (options, context) => (await import('./why-command.ts')).whyCommand(options, context),
};
