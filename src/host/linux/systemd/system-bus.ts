import type { MessageBus } from 'dbus-native';

export const SYSTEM_BUS = '/run/dbus/system_bus_socket';
/** For the bus to accept a client. Calls have the library's own limit, which is that of D-Bus: 25 s. */
export const CONNECT_MS = 10_000;

export interface SystemBusOptions {
  /** The socket of the system bus. */
  readonly socket: string;
  readonly connectMs: number;
}

/** Connects to the system bus; `onClosed` is called once, also when that fails. */
export async function openBus({ socket, connectMs }: SystemBusOptions, onClosed: () => void): Promise<MessageBus> {
  const { default: dbus } = await import('dbus-native');
  const bus = dbus.createClient({ socket });
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  bus.connection.on('connect', () => resolve());
  bus.connection.on('error', (error) => reject(error));
  bus.connection.on('close', (cause) => {
    onClosed();
    reject(cause ?? new Error('the system bus closed the connection'));
  });
  const late = setTimeout(() => {
    reject(new Error(`the system bus (${socket}) did not answer within ${connectMs / 1000} s`));
    bus.connection.end();
  }, connectMs);
  try {
    await promise;
    return bus;
  } finally {
    clearTimeout(late);
  }
}
