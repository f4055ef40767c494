import type { WebSocketConnection } from '../host/network.ts';
import {
  decodeExecMessage,
  EXEC_PROTOCOL,
  type ExecEnd,
  encodeResize,
  encodeStdin,
} from '../kubelet/server/exec-protocol.ts';
import { createLocalClient } from '../kubelet/server/local-client.ts';
import { type CommandContext, CommandError, EXIT } from './command-context.ts';
import type { ExecOptions } from './commands.ts';
import { localSocket } from './local-socket.ts';
import { podArgument } from './pod-argument.ts';
import type { Terminal } from './terminal.ts';

/** `nodelet exec`: the exit code is the command's. */
export async function execCommand(options: ExecOptions, { terminal, host }: CommandContext): Promise<number> {
  const { stateDir, namespace, container, command, stdin, tty } = options;
  const pod = podArgument(options.pod, namespace);
  if (stdin && !(tty && terminal.inputIsTerminal)) {
    const why = 'the end of the input could not be told to the command';
    throw new CommandError(`-i needs a terminal and -t (${why}); leave it out, or use -it`, EXIT.badInput);
  }
  const client = createLocalClient({ network: host.network, socketPath: localSocket(stateDir) });
  const over = new AbortController();
  try {
    const { url, note } = await client.exec({ pod, container, command, stdin, tty }, over.signal);
    if (note !== undefined) await terminal.stderr.write(`${note}\n`);
    const { hostname, port, pathname, search } = new URL(url);
    const target = { host: hostname, port: Number(port) };
    const request = { target, path: `${pathname}${search}`, protocols: [EXEC_PROTOCOL] };
    const connection = await host.network.webSocket(request, over.signal);
    const sending = [
      ...(stdin ? [sendKeys(terminal, connection, over.signal)] : []),
      ...(tty ? [sendSizes(terminal, connection, over.signal)] : []),
    ];
    const end = await Promise.race([receive(terminal, connection), failureOf(sending)]);
    return await exitCodeOf(end, terminal);
  } finally {
    over.abort();
  }
}

/** Shows what comes, until the runtime tells how the command ended. */
async function receive(terminal: Terminal, connection: WebSocketConnection): Promise<ExecEnd> {
  for await (const bytes of connection.messages) {
    const message = decodeExecMessage(bytes);
    if (message.kind === 'stdout') await terminal.stdout.write(message.data);
    else if (message.kind === 'stderr') await terminal.stderr.write(message.data);
    else if (message.kind === 'end') return message.end;
  }
  return { failure: 'the connection to the container was lost' };
}

async function exitCodeOf(end: ExecEnd, terminal: Terminal): Promise<number> {
  if ('failure' in end) throw new CommandError(end.failure);
  if (end.exitCode !== 0) await terminal.stderr.write(`command terminated with exit code ${end.exitCode}\n`);
  return end.exitCode;
}

async function sendKeys(terminal: Terminal, connection: WebSocketConnection, signal: AbortSignal): Promise<void> {
  for await (const keys of terminal.keys(signal)) await connection.send(encodeStdin(keys));
}

async function sendSizes(terminal: Terminal, connection: WebSocketConnection, signal: AbortSignal): Promise<void> {
  for await (const size of terminal.sizes(signal)) await connection.send(encodeResize(size));
}

/** Never resolves: keys that end do not end the command, and what is sent after its end does not matter. */
function failureOf(sending: readonly Promise<void>[]): Promise<never> {
  return new Promise((_, reject) => {
    for (const task of sending) task.catch(reject);
  });
}
