import { explainCommand } from './explain-command.ts';

const HELP = `
Shows when each step started, how long it took, and what the pod waited for in between.

Example:
  nodelet timeline hello
`;

export const timeline = explainCommand({
  name: 'timeline',
  description: 'Show the steps of a pod.',
  help: HELP,
  execute: async (options, context) => (await import('./timeline-command.ts')).timelineCommand(options, context),
});
