import process from 'node:process';
import packageJson from '../package.json' with { type: 'json' };
import { commandArguments } from './cli/command-arguments.ts';
import { runCommandLine } from './cli/command-line.ts';
import type { CommandContext, Interrupt } from './cli/commands/command-context.ts';
import { handleProcessErrors } from './cli/commands/process-errors.ts';
import { EXIT } from './cli/options/command-error.ts';
import { processTerminal } from './cli/output/terminal.ts';
import { createLinuxHost } from './host/linux/linux-host.ts';
import { readMachineFacts } from './host/linux/proc/read-machine-facts.ts';
import { endProcess } from './host/linux/process/end-process.ts';
import { isJournalStream } from './host/linux/process/journal-stream.ts';

/** A closed terminal counts as a request to stop: pods are stopped and nothing is left behind. */
const INTERRUPTS = { SIGINT: 'SIGINT', SIGTERM: 'SIGTERM', SIGHUP: 'SIGTERM' } as const;

const terminal = processTerminal((fd) => isJournalStream(fd, process.env));
/** Whether the command handles interrupts itself. Such a command may have hanging work when it ends. */
let handlesInterrupts = false;

const context: CommandContext = {
  terminal,
  host: createLinuxHost(process.env),
  version: packageJson.version,
  pid: process.pid,
  machine: readMachineFacts(),
  platform: process.platform,
  isRoot: process.geteuid?.() === 0,
  env: process.env,
  onInterrupt,
  processErrors: handleProcessErrors(process, exitAfterBug),
};

function onInterrupt(listener: (interrupt: Interrupt) => void): () => void {
  handlesInterrupts = true;
  const handlers = Object.entries(INTERRUPTS).map(
    ([signal, interrupt]) => [signal, () => listener(interrupt)] as const,
  );
  for (const [signal, handler] of handlers) process.on(signal, handler);
  return () => {
    for (const [signal, handler] of handlers) process.off(signal, handler);
  };
}

/** The state of the process is wrong, or nothing runs yet. It exits, and the next process recovers. */
function exitAfterBug(error: unknown): void {
  const text = error instanceof Error ? (error.stack ?? error.message) : String(error);
  void terminal.stderr.write(`nodelet: a bug: ${text}\n`).finally(() => void exit(EXIT.bug));
}

async function exit(exitCode: number): Promise<never> {
  return handlesInterrupts ? endProcess(exitCode) : process.exit(exitCode);
}

// Open connections and watches of a command must not keep the process alive.
await exit(await runCommandLine(commandArguments(process.argv, process.argv0), context));
