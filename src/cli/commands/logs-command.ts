import { createLocalClient } from '../../kubelet/local-api/local-client.ts';
import { localSocket } from '../../kubelet/local-api/local-socket.ts';
import { EXIT } from '../options/command-error.ts';
import { podArgument } from '../options/pod-argument.ts';
import type { CommandContext } from './command-context.ts';
import type { LogsOptions } from './logs.ts';

/** `nodelet logs`: nothing but the log on stdout. */
export async function logsCommand(options: LogsOptions, { terminal, host }: CommandContext): Promise<number> {
  const { stateDir, namespace, pod, sinceMs, ...query } = options;
  const client = createLocalClient({ network: host.network, socketPath: localSocket(stateDir) });
  const { note, text } = await client.logs(
    {
      ...query,
      pod: podArgument(pod, namespace),
      sinceMs: sinceMs === undefined ? undefined : Math.round(host.clock.now() - sinceMs),
      limitBytes: undefined,
    },
    new AbortController().signal,
  );
  if (note !== undefined) await terminal.stderr.write(`${note}\n`);
  for await (const chunk of text) await terminal.stdout.write(chunk);
  return EXIT.ok;
}
