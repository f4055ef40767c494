import { Server, type ServerUnaryCall, type sendUnaryData, status } from '@grpc/grpc-js';
import { aborted } from '../../base/aborted.ts';
import { errorText } from '../../base/error-text.ts';
import type { Log } from '../../base/log.ts';
import { bindPrivately, listeningServers } from '../../cri/bind-privately.ts';
import type { FileSystem } from '../../host/file-system.ts';
import { type Empty, RegisterRequest, RegistrationDefinition } from '../generated/deviceplugin-v1beta1.ts';
import { goErrorText } from '../plugin-error.ts';

/** The socket as kubelet's umask leaves it: only root can write to it. */
const SOCKET_MODE = 0o755;

/** Handles the registration of one device plugin. Rejects with the text that the plugin receives. */
export type Register = (request: RegisterRequest, signal: AbortSignal) => Promise<void>;

export interface RegistrationServerDeps {
  readonly fs: Pick<FileSystem, 'changeMode' | 'makeDirectory' | 'remove' | 'removeTree' | 'rename'>;
  readonly log: Pick<Log, 'warn'>;
}

/** Serves the registration of device plugins until the signal aborts. Calls `onListening` when plugins can connect. */
export type ServeRegistration = (
  socketPath: string,
  register: Register,
  onListening: () => void,
  signal: AbortSignal,
) => Promise<void>;

export function registrationServer({ fs, log }: RegistrationServerDeps): ServeRegistration {
  return async (socketPath, register, onListening, signal) => {
    const server = new Server();
    addRegister(server, register);
    await bindPrivately(server, { socketPath, mode: SOCKET_MODE, fs });
    for (const each of listeningServers(server)) {
      each.on('error', (error: unknown) =>
        log.warn('cannot accept the connection of a device plugin', { socketPath, error: errorText(error) }),
      );
    }
    onListening();
    try {
      await aborted(signal);
    } finally {
      server.forceShutdown();
      await fs.remove(socketPath);
    }
  };
}

function addRegister(server: Server, register: Register): void {
  const { responseType, name } = RegistrationDefinition.methods.register;
  server.register(
    `/${RegistrationDefinition.fullName}/${name}`,
    (call: ServerUnaryCall<RegisterRequest, Empty>, answer: sendUnaryData<Empty>) => {
      const left = new AbortController();
      call.on('cancelled', () => left.abort(new Error('context canceled')));
      register(call.request, left.signal).then(
        () => answer(null, {}),
        (error: unknown) => answer({ code: status.UNKNOWN, details: goErrorText(error) }),
      );
    },
    (message: Empty) => Buffer.from(responseType.encode(message).finish()),
    (bytes: Buffer) => RegisterRequest.decode(new Uint8Array(bytes)),
    'unary',
  );
}
