import { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import type { MessageBus } from 'dbus-native';
import { errorText } from '../../../base/error-text.ts';
import { type Systemd, SystemdError } from '../../systemd.ts';
import { encodeProperties } from './encode-properties.ts';
import { CONNECT_MS, openBus, SYSTEM_BUS } from './system-bus.ts';

const MANAGER = { destination: 'org.freedesktop.systemd1', path: '/org/freedesktop/systemd1' };
const INTERFACE = 'org.freedesktop.systemd1.Manager';
const ERRORS = 'org.freedesktop.systemd1.';
/** As libcontainer waits for the job of a unit. */
const JOB_MS = 30_000;
/** Jobs of other clients end as well: only the last few results can belong to a call whose reply is on its way. */
const KEPT_RESULTS = 1000;
const SCOPE_ATTEMPTS = 5;

export interface LinuxSystemdOptions {
  /** The socket of the system bus. */
  readonly socket?: string;
  readonly jobMs?: number;
  readonly connectMs?: number;
}

/** systemd by D-Bus. The connection is opened by the first call, and again by the next one after it was lost. */
export function createLinuxSystemd(options: LinuxSystemdOptions = {}): Systemd {
  const settings = { socket: SYSTEM_BUS, jobMs: JOB_MS, connectMs: CONNECT_MS, ...options };
  let connected: Promise<Manager> | undefined;
  const manager = (): Promise<Manager> => {
    connected ??= connectManager(settings, () => {
      connected = undefined;
    }).catch((error) => {
      connected = undefined;
      throw error;
    });
    return connected;
  };

  async function attempt(doing: string, unit: string, work: (manager: Manager) => Promise<unknown>): Promise<void> {
    try {
      const connected = await manager();
      using _ = connected.hold();
      await work(connected);
    } catch (error) {
      throw new SystemdError(doing, unit, errorText(error), { cause: error });
    }
  }

  return {
    async startTransientUnit(name, properties, signal) {
      await attempt('start', name, async ({ startJob, resetFailed }) => {
        try {
          const body = [name, 'replace', encodeProperties(properties), []];
          await startJob({ member: 'StartTransientUnit', signature: 'ssa(sv)a(sa(sv))', body }, signal);
        } catch (error) {
          if (isError(error, 'UnitExists')) return;
          await resetFailed(name).catch(() => undefined);
          throw error;
        }
      });
    },
    async setUnitProperties(name, properties, signal) {
      await attempt('change', name, ({ call }) => {
        const body = [name, true, encodeProperties(properties)];
        return call({ member: 'SetUnitProperties', signature: 'sba(sv)', body }, signal);
      });
    },
    async stopUnit(name, signal) {
      await attempt('stop', name, async ({ startJob, resetFailed }) => {
        try {
          await startJob({ member: 'StopUnit', signature: 'ss', body: [name, 'replace'] }, signal);
        } catch (error) {
          if (!isError(error, 'NoSuchUnit')) throw error;
        }
        await resetFailed(name).catch(() => undefined); // most often it is not there any more
      });
    },
    async moveToScope(name, pids, properties, signal) {
      await attempt('move processes to', name, async ({ call, startJob }) => {
        const move = () =>
          call({ member: 'AttachProcessesToUnit', signature: 'ssau', body: [name, '/', pids] }, signal);
        const start = () => {
          const body = [name, 'fail', encodeProperties({ ...properties, PIDs: pids }), []];
          return startJob({ member: 'StartTransientUnit', signature: 'ssa(sv)a(sa(sv))', body }, signal);
        };
        // Between two calls, the scope may be created for other processes, or end with its last one.
        for (let attempts = 1; ; attempts++) {
          try {
            return await move();
          } catch (error) {
            if (!isError(error, 'NoSuchUnit') || attempts === SCOPE_ATTEMPTS) throw error;
          }
          try {
            return await start();
          } catch (error) {
            if (!isError(error, 'UnitExists')) throw error;
          }
        }
      });
    },
  };
}

interface Call {
  readonly member: string;
  readonly signature: string;
  readonly body: unknown[];
}

interface Manager {
  /** Keeps the process alive; without a holder the open connection does not. */
  hold(): Disposable;
  call(call: Call, signal?: AbortSignal): Promise<unknown>;
  /** Calls a method that returns a job, and waits for the job. */
  startJob(call: Call, signal?: AbortSignal): Promise<void>;
  resetFailed(unit: string): Promise<unknown>;
}

async function connectManager(settings: Required<LinuxSystemdOptions>, onClosed: () => void): Promise<Manager> {
  const { jobMs } = settings;
  const bus = await openBus(settings, onClosed);
  const jobs = await watchJobs(bus);

  const call: Manager['call'] = async ({ member, signature, body }, signal) => {
    const message = { ...MANAGER, interface: INTERFACE, member, signature, body };
    return await bus.invoke(message, signal ? { signal } : {});
  };
  return {
    call,
    hold: holder(bus.connection.stream),
    async startJob(request, signal) {
      const job = String(await call(request, signal));
      const timeout = AbortSignal.timeout(jobMs);
      const result = await jobs.result(job, signal ? AbortSignal.any([signal, timeout]) : timeout).catch((error) => {
        if (timeout.aborted) throw new Error(`systemd did not finish its job within ${jobMs / 1000} s`);
        throw error;
      });
      if (result !== 'done') throw new Error(`its job ended with the result ${result}`);
    },
    resetFailed: (unit) => call({ member: 'ResetFailedUnit', signature: 's', body: [unit] }),
  };
}

function holder(stream: Duplex): () => Disposable {
  let holders = 0;
  const socket = stream instanceof Socket ? stream : undefined;
  socket?.unref();
  return () => {
    if (holders++ === 0) socket?.ref();
    return {
      [Symbol.dispose]() {
        if (--holders === 0) socket?.unref();
      },
    };
  };
}

/** Loads the library at the first use: most machines of tests, and machines with the driver cgroupfs, never need it. */
interface Jobs {
  /** The result of the job with this object path, which may have ended already. */
  result(job: string, signal: AbortSignal): Promise<string>;
}

/** Follows the ends of jobs: a reply names the job, a signal its end, and the signal may be handled before the reply. */
async function watchJobs(bus: MessageBus): Promise<Jobs> {
  const ended = new Map<string, string>();
  const waiting = new Map<string, (result: string) => void>();
  const rule = `type='signal',interface='${INTERFACE}',member='JobRemoved',path='${MANAGER.path}'`;
  bus.signals.on(
    bus.mangle(MANAGER.path, INTERFACE, 'JobRemoved'),
    ([, job, , result]: [number, string, string, string]) => {
      const waiter = waiting.get(job);
      if (waiter) return waiter(result);
      ended.set(job, result);
      if (ended.size > KEPT_RESULTS) ended.delete(ended.keys().next().value ?? '');
    },
  );
  await bus.addMatch(rule);
  await bus.invoke({ ...MANAGER, interface: INTERFACE, member: 'Subscribe' });

  return {
    async result(job, signal) {
      const early = ended.get(job);
      if (early !== undefined) {
        ended.delete(job);
        return early;
      }
      const { promise, resolve, reject } = Promise.withResolvers<string>();
      const onAbort = (): void => reject(signal.reason);
      const onClose = (): void => reject(new Error('the system bus closed the connection'));
      waiting.set(job, resolve);
      bus.connection.once('close', onClose);
      signal.addEventListener('abort', onAbort, { once: true });
      try {
        return await promise;
      } finally {
        waiting.delete(job);
        bus.connection.off('close', onClose);
        signal.removeEventListener('abort', onAbort);
      }
    },
  };
}

function isError(error: unknown, name: string): boolean {
  return error instanceof Error && 'dbusName' in error && error.dbusName === `${ERRORS}${name}`;
}
