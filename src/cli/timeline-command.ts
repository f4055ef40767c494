import { timelineText } from '../kubelet/explain/timeline-text.ts';
import { createLocalClient } from '../kubelet/server/local-client.ts';
import { type CommandContext, EXIT } from './command-context.ts';
import type { ExplainOptions } from './commands.ts';
import { localSocket } from './local-socket.ts';
import { podArgument } from './pod-argument.ts';

/** `nodelet timeline`: the steps on stdout; that there are none is told on stderr. */
export async function timelineCommand(
  { stateDir, namespace, pod, output }: ExplainOptions,
  { terminal, host }: CommandContext,
): Promise<number> {
  const client = createLocalClient({ network: host.network, socketPath: localSocket(stateDir) });
  const answer = await client.timeline(podArgument(pod, namespace), new AbortController().signal);
  const { steps, waits, nowMs } = answer;
  const text = output === 'json' ? `${JSON.stringify(answer, undefined, 4)}\n` : timelineText(steps, waits, nowMs);
  await terminal.stdout.write(text);
  if (text === '') await terminal.stderr.write('Nothing has been done for this pod yet.\n');
  return EXIT.ok;
}
