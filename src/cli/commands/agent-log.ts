import type { Log } from '../../base/log.ts';
import { createLog, type LogOptions } from '../../observability/create-log.ts';
import { logCriCalls } from '../../observability/cri-log.ts';
import { LineWriter } from '../output/line-writer.ts';
import type { CommandContext } from './command-context.ts';

/**
 * The agent's log on stderr: for people on a terminal and in the journal, elsewhere a JSON record a line unless `format` says
 * otherwise.
 */
export function agentLog({ terminal, host }: CommandContext, verbosity: number, format?: LogOptions['format']): Log {
  const { isTerminal, isJournal, hasColours } = terminal.stderr;
  const writer = new LineWriter(terminal.stderr, () => {}); // a closed stderr does not stop the agent
  const log = createLog({
    clock: host.clock,
    verbosity,
    format: isJournal ? 'journal' : (format ?? (isTerminal ? 'human' : 'json')),
    coloured: hasColours,
    write: (line) => void writer.writeRaw(line),
  });
  if (verbosity >= 4) logCriCalls({ log, clock: host.clock });
  return log;
}
