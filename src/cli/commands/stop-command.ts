import { errorText } from '../../base/error-text.ts';
import type { StopAnswer } from '../../kubelet/local-api/local-api-types.ts';
import { createLocalClient, type LocalClient } from '../../kubelet/local-api/local-client.ts';
import { localSocket } from '../../kubelet/local-api/local-socket.ts';
import { EXIT } from '../options/command-error.ts';
import { podArgument } from '../options/pod-argument.ts';
import type { CommandContext } from './command-context.ts';
import type { StopOptions } from './stop.ts';

/** `nodelet stop`: all named pods at once; one that cannot be stopped does not keep the others. */
export async function stopCommand(options: StopOptions, { terminal, host }: CommandContext): Promise<number> {
  const { stateDir, namespace, pods, graceSeconds } = options;
  const client = createLocalClient({ network: host.network, socketPath: localSocket(stateDir) });
  const { signal } = new AbortController();
  const references = pods.map((pod) => podArgument(pod, namespace));
  const stops =
    references.length === 0
      ? [stopAgent(client, graceSeconds)]
      : references.map((reference) => client.stop(reference, graceSeconds, signal));
  const results = await Promise.allSettled(stops);
  for (const result of results) {
    if (result.status === 'rejected') await terminal.stderr.write(`nodelet stop: ${errorText(result.reason)}\n`);
    else for (const name of result.value.stopped) await terminal.stdout.write(`${name} stopped\n`);
  }
  return results.every(({ status }) => status === 'fulfilled') ? EXIT.ok : EXIT.failed;
}

/** Resolves when the agent is gone too: the next one can be started. */
async function stopAgent(client: LocalClient, graceSeconds: number | undefined): Promise<StopAnswer> {
  const holding = new AbortController();
  try {
    const { ended } = await client.hold(holding.signal);
    const answer = await client.shutdown(graceSeconds, holding.signal);
    await ended;
    return answer;
  } finally {
    holding.abort();
  }
}
