import { createLocalClient } from '../kubelet/server/local-client.ts';
import { type CommandContext, EXIT } from './command-context.ts';
import type { ExplainOptions } from './commands.ts';
import { localSocket } from './local-socket.ts';
import { podArgument } from './pod-argument.ts';

/** `nodelet why`: the verdict on the first line, its reasons below. */
export async function whyCommand(
  { stateDir, namespace, pod, output }: ExplainOptions,
  { terminal, host }: CommandContext,
): Promise<number> {
  const client = createLocalClient({ network: host.network, socketPath: localSocket(stateDir) });
  const answer = await client.why(podArgument(pod, namespace), new AbortController().signal);
  const [verdict = '', ...reasons] = answer.sentences;
  const lines = [verdict, ...reasons.map((reason) => `  ${reason}`)];
  const text = output === 'json' ? JSON.stringify(answer, undefined, 4) : lines.join('\n');
  await terminal.stdout.write(`${text}\n`);
  return EXIT.ok;
}
