import { explainCommand } from './explain-command.ts';

const HELP = `
Prints what the pod waits for, since when, and its last errors.

Example:
  nodelet why hello
`;

export const why = explainCommand({
  name: 'why',
  description: 'Explain the state of a pod.',
  help: HELP,
  execute: async (options, context) => (await import('./why-command.ts')).whyCommand(options, context),
});
