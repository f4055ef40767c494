import { createMemoryHost, type MemoryHost } from '../../host/fake/memory-host.ts';
import type { CommandContext, Interrupt } from '../commands/command-context.ts';
import { createOutput, type Output } from '../output/output.ts';
import type { Terminal } from '../output/terminal.ts';

/** A user at pipes, on a machine in memory. */
export interface ScriptedContext {
  readonly context: CommandContext;
  readonly host: MemoryHost;
  /** What the user has read so far. */
  readonly written: { stdout: string; stderr: string };
  /** Presses Ctrl-C, or sends SIGTERM. */
  interrupt(interrupt?: Interrupt): void;
}

export interface ScriptedContextOptions extends Partial<Omit<CommandContext, 'terminal' | 'host'>> {
  readonly terminal?: Partial<Terminal>;
  /** Streams that are terminals. */
  readonly terminals?: readonly ('stdout' | 'stderr')[];
}

export function scriptedContext({ terminal, terminals = [], ...more }: ScriptedContextOptions = {}): ScriptedContext {
  const host = createMemoryHost();
  const written = { stdout: '', stderr: '' };
  const listeners = new Set<(interrupt: Interrupt) => void>();
  const env = more.env ?? { HOME: '/root', PATH: '/usr/bin' };
  const outputTo = (stream: 'stdout' | 'stderr'): Output =>
    createOutput({
      isTerminal: terminals.includes(stream),
      env,
      write: async (text) => {
        written[stream] += Buffer.from(text).toString();
      },
    });
  const context: CommandContext = {
    terminal: {
      stdout: outputTo('stdout'),
      stderr: outputTo('stderr'),
      inputIsTerminal: false,
      async *input() {},
      keys: () => nothing(),
      sizes: () => nothing(),
      ...terminal,
    },
    host,
    version: '1.2.3',
    pid: 42,
    machine: { hostname: 'Box', memoryBytes: 2 ** 30, addresses: ['192.0.2.1'] },
    platform: 'linux',
    isRoot: true,
    onInterrupt: (listener) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    processErrors: { survive: () => () => undefined, endAfterBug: fail },
    ...more,
    env,
  };
  const interrupt = (kind: Interrupt = 'SIGINT'): void => {
    for (const listener of listeners) listener(kind);
  };
  return { context, host, written, interrupt };
}

function fail(error: unknown): never {
  throw error;
}

async function* nothing(): AsyncGenerator<never, void, void> {}
