import type { Log } from '../../base/log.ts';
import { createLog } from '../../observability/create-log.ts';
import { logCriCalls } from '../../observability/cri-log.ts';
import { LineWriter } from '../output/line-writer.ts';
import type { CommandContext } from './command-context.ts';

/** The agent's log on stderr: for people on a terminal, a JSON record a line elsewhere. */
export function agentLog({ terminal, host }: CommandContext, verbosity: number): Log {
  const { isTerminal } = terminal.stderr;
  const writer = new LineWriter(terminal.stderr, () => {}); // a log that nobody reads is no reason to stop
  const log = createLog({
    clock: host.clock,
    verbosity,
    format: isTerminal ? 'human' : 'json',
    coloured: isTerminal,
    write: (line) => void writer.write(line),
  });
  if (verbosity >= 4) logCriCalls({ log, clock: host.clock });
  return log;
}
