import { Socket } from 'node:net';
import type { MessageBus } from 'dbus-native';
import { errorText } from '../../../base/error-text.ts';
import { type InhibitLock, type InhibitReason, type LoginManager, LoginManagerError } from '../../login-manager.ts';
import { spawnStreamed } from '../process/spawn-streamed.ts';
import { CONNECT_MS, openBus, SYSTEM_BUS } from './system-bus.ts';

const LOGIND = { destination: 'org.freedesktop.login1', path: '/org/freedesktop/login1' };
const LOGIND_INTERFACE = 'org.freedesktop.login1.Manager';
const SYSTEMD = { destination: 'org.freedesktop.systemd1', path: '/org/freedesktop/systemd1' };
const SIGHUP = 1;

export interface LinuxLoginManagerOptions {
  /** The socket of the system bus. */
  readonly socket?: string;
  readonly connectMs?: number;
  /** The program that holds a lock. */
  readonly inhibitProgram?: string;
  /** Of that program. */
  readonly env?: Readonly<Record<string, string | undefined>>;
}

/** logind by D-Bus, except for the lock: it is a file descriptor, which a message cannot bring to a socket of Node. */
export function createLinuxLoginManager(options: LinuxLoginManagerOptions = {}): LoginManager {
  const settings = {
    socket: SYSTEM_BUS,
    connectMs: CONNECT_MS,
    inhibitProgram: 'systemd-inhibit',
    env: {},
    ...options,
  };
  return {
    async connect(onShutdown) {
      const { promise: closed, resolve } = Promise.withResolvers<void>();
      const bus = await attempt('reach logind', async () => {
        const opened = await openBus(settings, resolve);
        await watchShutdown(opened, onShutdown);
        return opened;
      });
      // The open connection does not keep the process alive.
      if (bus.connection.stream instanceof Socket) bus.connection.stream.unref();
      return {
        closed,
        close: () => void bus.connection.end(),
        inhibitDelayMs: (signal) => attempt('read InhibitDelayMaxUSec of logind', () => readDelay(bus, signal)),
        reloadConfiguration: (signal) => attempt('reload the configuration of logind', () => reload(bus, signal)),
        delayShutdown: (reason, signal) => attempt('take an inhibitor lock', () => inhibit(settings, reason, signal)),
      };
    },
  };
}

async function attempt<T>(doing: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    throw new LoginManagerError(`cannot ${doing}: ${errorText(error)}`, { cause: error });
  }
}

async function watchShutdown(bus: MessageBus, onShutdown: (isStarting: boolean) => void): Promise<void> {
  const member = 'PrepareForShutdown';
  bus.signals.on(bus.mangle(LOGIND.path, LOGIND_INTERFACE, member), ([isStarting]: [unknown]) => {
    if (typeof isStarting === 'boolean') onShutdown(isStarting);
  });
  await bus.addMatch(`type='signal',interface='${LOGIND_INTERFACE}',member='${member}',path='${LOGIND.path}'`);
}

async function readDelay(bus: MessageBus, signal: AbortSignal): Promise<number> {
  const { default: dbus } = await import('dbus-native');
  const body = [LOGIND_INTERFACE, 'InhibitDelayMaxUSec'];
  const message = { ...LOGIND, interface: 'org.freedesktop.DBus.Properties', member: 'Get', signature: 'ss', body };
  const micros: unknown = dbus.toPlain(await bus.invoke(message, { signal }));
  if (typeof micros !== 'bigint' && typeof micros !== 'number') throw new Error('it is not a number');
  return Number(micros) / 1000;
}

async function reload(bus: MessageBus, signal: AbortSignal): Promise<void> {
  const body = ['systemd-logind.service', 'all', SIGHUP];
  const call = {
    ...SYSTEMD,
    interface: 'org.freedesktop.systemd1.Manager',
    member: 'KillUnit',
    signature: 'ssi',
    body,
  };
  await bus.invoke(call, { signal });
}

/**
 * Starts `systemd-inhibit`, which holds a lock while its program runs: `cat`, which ends with its input, so with this process
 * at the latest. The first byte that `cat` returns shows that the lock is held.
 */
async function inhibit(
  { inhibitProgram, env }: Required<LinuxLoginManagerOptions>,
  { who, why }: InhibitReason,
  signal: AbortSignal,
): Promise<InhibitLock> {
  const args = ['--what=shutdown', `--who=${who}`, `--why=${why}`, '--mode=delay', 'cat'];
  const defined = Object.entries(env).flatMap(([name, value]) => (value === undefined ? [] : [[name, value] as const]));
  const command = { program: inhibitProgram, args, env: Object.fromEntries(defined), streams: 'all' } as const;
  const program = await spawnStreamed(command);
  const errors = textOf(program.stderr);
  const output = program.stdout[Symbol.asyncIterator]();
  const stop = (): void => program.closeInput();
  signal.addEventListener('abort', stop, { once: true });
  await program.write(Uint8Array.of(10));
  const { done = false } = await output.next();
  signal.removeEventListener('abort', stop);
  signal.throwIfAborted();
  if (done) throw new Error((await errors).trim() || `${inhibitProgram} exited with code ${await program.exited}`);
  return {
    async release() {
      program.closeInput();
      await program.exited;
    },
  };
}

async function textOf(stream: AsyncIterable<Uint8Array>): Promise<string> {
  let text = '';
  const decoder = new TextDecoder();
  for await (const chunk of stream) text += decoder.decode(chunk, { stream: true });
  return text;
}
