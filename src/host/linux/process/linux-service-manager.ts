import { closeSync, writeSync } from 'node:fs';
import { errorText } from '../../../base/error-text.ts';
import { notificationText, type ServiceManager, ServiceManagerError } from '../../service-manager.ts';
import type { Environment } from './run-command.ts';

const AF_UNIX = 1;
const SOCK_DGRAM = 2;
const CLOSE_ON_EXEC = 0o2000000;
const NON_BLOCKING = 0o4000;

/** The variables by which a service manager speaks to the process that it started, and to no other. */
export const SERVICE_VARIABLES = ['NOTIFY_SOCKET', 'WATCHDOG_USEC', 'WATCHDOG_PID'] as const;

export function createLinuxServiceManager(env: Environment, pid: number): ServiceManager {
  const { NOTIFY_SOCKET: socketPath, WATCHDOG_USEC: watchdogMicroseconds, WATCHDOG_PID: watchedPid } = env;
  return {
    watchdogMs() {
      if (!watchdogMicroseconds || (watchedPid && watchedPid !== String(pid))) return undefined;
      if (/^[1-9]\d{0,14}$/.test(watchdogMicroseconds)) return Number(watchdogMicroseconds) / 1000;
      throw new ServiceManagerError(`WATCHDOG_USEC is not a number of microseconds: ${watchdogMicroseconds}`);
    },
    async notify(notification) {
      if (!socketPath) return;
      try {
        await send(socketPath, notificationText(notification));
      } catch (error) {
        throw new ServiceManagerError(`cannot notify ${socketPath}: ${errorText(error)}`, { cause: error });
      }
    },
  };
}

/** Sends one datagram. It does not wait for a full queue. */
async function send(socketPath: string, text: string): Promise<void> {
  const { connect, socket, unixAddress } = await import('../sys/socket-calls.ts'); // most commands are no services
  const isAbstract = socketPath.startsWith('@');
  const address = unixAddress(isAbstract ? `\0${socketPath.slice(1)}` : socketPath);
  const fd = socket(AF_UNIX, SOCK_DGRAM | CLOSE_ON_EXEC | NON_BLOCKING, 0);
  try {
    // The name of an abstract socket ends where its address does.
    connect(fd, address, isAbstract ? 2 + Buffer.byteLength(socketPath) : address.byteLength);
    writeSync(fd, text);
  } finally {
    closeSync(fd);
  }
}
