import { createLocalClient } from '../../kubelet/local-api/local-client.ts';
import { localSocket } from '../../kubelet/local-api/local-socket.ts';
import { EXIT } from '../options/command-error.ts';
import { startStepTable } from '../output/start-step-table.ts';
import type { CommandContext } from './command-context.ts';
import type { TopOptions } from './top.ts';

/** `nodelet top --starts`: the steps on stdout; a note on stderr if there were none. */
export async function topCommand(
  { stateDir, output }: TopOptions,
  { terminal, host }: CommandContext,
): Promise<number> {
  const client = createLocalClient({ network: host.network, socketPath: localSocket(stateDir) });
  const answer = await client.starts(new AbortController().signal);
  const text = output === 'json' ? `${JSON.stringify(answer, undefined, 4)}\n` : startStepTable(answer.steps);
  await terminal.stdout.write(text);
  if (text === '') await terminal.stderr.write('No pod has started in the last hour.\n');
  return EXIT.ok;
}
