import { NetworkError } from '../../host/network.ts';
import { connectExec, type ExecRequest } from '../../kubelet/local-api/exec-connect.ts';
import type { ExecConnection } from '../../kubelet/local-api/exec-connection.ts';
import type { ExecEnd } from '../../kubelet/local-api/exec-protocol.ts';
import { createLocalClient } from '../../kubelet/local-api/local-client.ts';
import { localSocket } from '../../kubelet/local-api/local-socket.ts';
import { CommandError, EXIT } from '../options/command-error.ts';
import { podArgument } from '../options/pod-argument.ts';
import type { Terminal } from '../output/terminal.ts';
import type { CommandContext } from './command-context.ts';
import type { ExecOptions } from './exec.ts';
import { execFailure } from './exec-failure.ts';

/** kubectl's words. */
const NO_TTY = 'Unable to use a TTY - input is not a terminal or the right kind of file\n';

/** `nodelet exec`: the exit code is the command's, or a shell's where it could not be executed. */
export async function execCommand(options: ExecOptions, { terminal, host }: CommandContext): Promise<number> {
  const { stateDir, namespace, container, command, stdin } = options;
  const pod = podArgument(options.pod, namespace);
  const streams = execStreams(options, terminal);
  if (options.tty && !streams.tty) await terminal.stderr.write(NO_TTY);
  const client = createLocalClient({ network: host.network, socketPath: localSocket(stateDir) });
  const over = new AbortController();
  let isNoted = false;
  const address = async (): Promise<string> => {
    const { url, note } = await client.exec({ pod, container, command, stdin, tty: streams.tty }, over.signal);
    if (note !== undefined && !isNoted) await terminal.stderr.write(`${note}\n`);
    isNoted = true;
    return url;
  };
  try {
    const connection = await connectExec(host.network, address, streams, over.signal);
    const sending = [sendInput(terminal, streams, connection, over.signal)];
    if (streams.tty) sending.push(sendSizes(terminal, connection, over.signal));
    const { stdout, stderr } = terminal;
    const received = connection.receive({
      stdout: (data) => (streams.tty ? stdout.writeRaw(data) : stdout.write(data)),
      stderr: (data) => stderr.write(data), // a tty has one output only
    });
    return await exitCodeOf(await Promise.race([received, failureOf(sending)]), command, terminal);
  } finally {
    over.abort();
  }
}

function execStreams({ stdin, tty }: ExecOptions, { inputIsTerminal }: Terminal): ExecRequest {
  if (!stdin) return { input: 'none', tty };
  return tty && inputIsTerminal ? { input: 'keys', tty: true } : { input: 'bytes', tty: false };
}

async function exitCodeOf(end: ExecEnd, command: readonly string[], terminal: Terminal): Promise<number> {
  if ('failure' in end) {
    const { message, exitCode } = execFailure(end.failure, command) ?? { message: end.failure, exitCode: EXIT.failed };
    throw new CommandError(message, exitCode);
  }
  if (end.exitCode !== 0) await terminal.stderr.write(`command terminated with exit code ${end.exitCode}\n`);
  return end.exitCode;
}

async function sendInput(
  terminal: Terminal,
  { input }: ExecRequest,
  connection: ExecConnection,
  signal: AbortSignal,
): Promise<void> {
  if (input === 'none') return;
  const chunks = input === 'keys' ? terminal.keys(signal) : terminal.input();
  for await (const chunk of chunks) await connection.stdin(chunk);
  await connection.endStdin();
}

async function sendSizes(terminal: Terminal, connection: ExecConnection, signal: AbortSignal): Promise<void> {
  for await (const size of terminal.sizes(signal)) await connection.resize(size);
}

/** Never resolves. Unread input is not an error: the command may need no more, and its exit code decides. */
function failureOf(sending: readonly Promise<void>[]): Promise<never> {
  return new Promise((_, reject) => {
    for (const task of sending) {
      task.catch((error: unknown) => {
        if (!(error instanceof NetworkError)) reject(error);
      });
    }
  });
}
