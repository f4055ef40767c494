import type { KubeletSettings } from '../../app/config/load-config.ts';
import type { Log } from '../../base/log.ts';
import { parseQuantity } from '../../base/quantity.ts';
import { BufferedLines } from '../../observability/buffered-lines.ts';
import { createLog, type LogFormat } from '../../observability/create-log.ts';
import { logCriCalls } from '../../observability/cri-log.ts';
import { verbosityOf } from '../../observability/verbosity.ts';
import { LineWriter } from '../output/line-writer.ts';
import type { CommandContext } from './command-context.ts';

/** What kubelet's units ask for; its own default of 0 would hide what happens. */
const DEFAULT_VERBOSITY = 2;
/** As in kubelet. */
const MAX_BUFFER = 2 ** 31;

export interface KubeletLog {
  readonly log: Log;
  /** As `PUT /debug/flags/v`. */
  setVerbosity(verbosity: number): void;
  /** Resolves when everything that was logged is written. */
  flush(): Promise<void>;
}

/**
 * The log of `nodelet kubelet` by kubelet's `logging`: to stderr, or with split streams only the errors there and the rest to
 * stdout. `text` is for people on a terminal, has priorities in the journal, and is klog's text elsewhere.
 */
export function kubeletLog(context: CommandContext, { config, parsed }: KubeletSettings): KubeletLog {
  const { host, terminal, pid } = context;
  const { logging } = config;
  const isJson = logging.format === 'json';
  const { splitStream, infoBufferSize } = logging.options[isJson ? 'json' : 'text'];
  const errors = new LineWriter(terminal.stderr, () => {}); // a closed stderr does not stop the agent
  const infos = splitStream ? new LineWriter(terminal.stdout, () => {}) : errors;
  const maxCharacters = splitStream ? Math.min(MAX_BUFFER, Number(parseQuantity(infoBufferSize).value())) : 0;
  const write = (lines: string): void => void infos.writeRaw(lines);
  const flushMs = parsed.ms['logging.flushFrequency'];
  const buffered =
    maxCharacters > 0 ? new BufferedLines({ clock: host.clock, maxCharacters, flushMs, write }) : undefined;
  const verbosity = logging.verbosity || DEFAULT_VERBOSITY;
  const log = createLog({
    clock: host.clock,
    verbosity,
    modules: logging.vmodule ?? [],
    format: formatOf(isJson, terminal.stderr),
    coloured: terminal.stderr.hasColours,
    pid,
    write: (line, level) => {
      if (level === 'error') void errors.writeRaw(line);
      else if (buffered) buffered.add(line);
      else write(line);
    },
  });
  const criCalls = callLog(log, context);
  criCalls(verbosity);
  return {
    log,
    setVerbosity: (now) => {
      log.setVerbosity(now);
      criCalls(now);
    },
    async flush() {
      buffered?.flush();
      await Promise.all([infos.flush(), errors.flush()]);
    },
  };
}

function formatOf(isJson: boolean, { isTerminal, isJournal }: CommandContext['terminal']['stderr']): LogFormat {
  if (isJson) return 'klogJson';
  if (isJournal) return 'journal';
  return isTerminal ? 'human' : 'klog';
}

/** Calls of the runtime are observed only while they are logged. */
function callLog(log: Log, { host }: CommandContext): (verbosity: number) => void {
  let stop: (() => void) | undefined;
  return (verbosity) => {
    const isShown = verbosity >= verbosityOf('debug');
    if (isShown) stop ??= logCriCalls({ log, clock: host.clock });
    else {
      stop?.();
      stop = undefined;
    }
  };
}
