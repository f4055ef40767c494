import { createMemoryHost, type MemoryHost } from '../../host/fake/memory-host.ts';
import type { CommandContext, Interrupt } from '../commands/command-context.ts';
import type { Output, Terminal } from '../output/terminal.ts';

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
}

export function scriptedContext({ terminal, ...more }: ScriptedContextOptions = {}): ScriptedContext {
  const host = createMemoryHost();
  const written = { stdout: '', stderr: '' };
  const listeners = new Set<(interrupt: Interrupt) => void>();
  const outputTo = (stream: 'stdout' | 'stderr'): Output => ({
    isTerminal: false,
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
    env: { HOME: '/root', PATH: '/usr/bin' },
    onInterrupt: (listener) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    ...more,
  };
  const interrupt = (kind: Interrupt = 'SIGINT'): void => {
    for (const listener of listeners) listener(kind);
  };
  return { context, host, written, interrupt };
}

async function* nothing(): AsyncGenerator<never, void, void> {}
