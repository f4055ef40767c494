import { timelineText } from '../../kubelet/explain/timeline-text.ts';
import { createLocalClient } from '../../kubelet/local-api/local-client.ts';
import { localSocket } from '../../kubelet/local-api/local-socket.ts';
import { EXIT } from '../options/command-error.ts';
import { podArgument } from '../options/pod-argument.ts';
import type { CommandContext } from './command-context.ts';
import type { ExplainOptions } from './explain-command.ts';

/** `nodelet timeline`: the steps on stdout; a note on stderr if there are none. */
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
