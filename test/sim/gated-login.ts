import { type InhibitLock, type LoginManager, LoginManagerError } from '../../src/host/login-manager.ts';
import type { Gate } from './gate.ts';

/** logind as one agent process reaches it. The end of the process releases its locks; none can be taken during a shutdown. */
export function gatedLogin(loginManager: LoginManager, gate: Gate, isShuttingDown: () => boolean): LoginManager {
  return {
    connect: (onShutdown, signal) =>
      gate.pass(async () => {
        const each = (isStarting: boolean): void => {
          if (!gate.isClosed) onShutdown(isStarting);
        };
        const connection = await loginManager.connect(each, signal);
        const locks = new Set<InhibitLock>();
        const release = async (lock: InhibitLock): Promise<void> => {
          locks.delete(lock);
          await lock.release();
        };
        const onClosed = (): void => {
          connection.close();
          for (const lock of [...locks]) void release(lock);
        };
        gate.closed.addEventListener('abort', onClosed, { once: true });
        return {
          closed: connection.closed,
          close: () => connection.close(),
          inhibitDelayMs: (until) => gate.pass(() => connection.inhibitDelayMs(until)),
          reloadConfiguration: (until) => gate.pass(() => connection.reloadConfiguration(until)),
          delayShutdown: (reason, until) =>
            gate.pass(async () => {
              if (isShuttingDown()) throw new LoginManagerError('the operation is already in progress');
              const lock = await connection.delayShutdown(reason, until);
              locks.add(lock);
              return { release: () => gate.pass(() => release(lock)) };
            }),
        };
      }),
  };
}
