import { createLocalClient } from '../../kubelet/local-api/local-client.ts';
import { localSocket } from '../../kubelet/local-api/local-socket.ts';
import { EXIT } from '../options/command-error.ts';
import { podArgument } from '../options/pod-argument.ts';
import type { CommandContext } from './command-context.ts';
import type { ExplainOptions } from './explain-command.ts';

/** `nodelet why`: a summary on the first line, its reasons below. */
export async function whyCommand(
  { stateDir, namespace, pod, output }: ExplainOptions,
  { terminal, host }: CommandContext,
): Promise<number> {
  const client = createLocalClient({ network: host.network, socketPath: localSocket(stateDir) });
  const answer = await client.why(podArgument(pod, namespace), new AbortController().signal);
  const [summary = '', ...reasons] = answer.sentences;
  const lines = [summary, ...reasons.map((reason) => `  ${reason}`)];
  const text = output === 'json' ? JSON.stringify(answer, undefined, 4) : lines.join('\n');
  await terminal.stdout.write(`${text}\n`);
  return EXIT.ok;
}
