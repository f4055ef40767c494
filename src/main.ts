import process from 'node:process';
import packageJson from '../package.json' with { type: 'json' };
import { runCommandLine } from './cli/command-line.ts';
import type { CommandContext, Interrupt } from './cli/commands/command-context.ts';
import { EXIT } from './cli/options/command-error.ts';
import { processTerminal } from './cli/output/terminal.ts';
import { createLinuxHost } from './host/linux/linux-host.ts';
import { readMachineFacts } from './host/linux/proc/read-machine-facts.ts';
import { endProcess } from './host/linux/process/end-process.ts';

/** A terminal that is closed ends us as a request does: pods stop, nothing stays behind. */
const INTERRUPTS = { SIGINT: 'SIGINT', SIGTERM: 'SIGTERM', SIGHUP: 'SIGTERM' } as const;

const terminal = processTerminal();
/** Whether the command ends by itself when it is interrupted: such a command may have work that hangs. */
let takesInterrupts = false;

const context: CommandContext = {
  terminal,
  host: createLinuxHost(),
  version: packageJson.version,
  pid: process.pid,
  machine: readMachineFacts(),
  platform: process.platform,
  isRoot: process.geteuid?.() === 0,
  env: process.env,
  onInterrupt,
};

function onInterrupt(listener: (interrupt: Interrupt) => void): () => void {
  takesInterrupts = true;
  const handlers = Object.entries(INTERRUPTS).map(
    ([signal, interrupt]) => [signal, () => listener(interrupt)] as const,
  );
  for (const [signal, handler] of handlers) process.on(signal, handler);
  return () => {
    for (const [signal, handler] of handlers) process.off(signal, handler);
  };
}

/** The state of the program is not known any more. The next start finds everything again, so ending is the way on. */
function endAfterBug(error: unknown): void {
  const text = error instanceof Error ? (error.stack ?? error.message) : String(error);
  void terminal.stderr.write(`nodelet: a bug: ${text}\n`).finally(() => void end(EXIT.bug));
}

async function end(exitCode: number): Promise<never> {
  return takesInterrupts ? endProcess(exitCode) : process.exit(exitCode);
}

process.on('uncaughtException', endAfterBug);
process.on('unhandledRejection', endAfterBug);

// What a command leaves open (a connection, a watch) must not keep the process.
await end(await runCommandLine(process.argv.slice(2), context));
