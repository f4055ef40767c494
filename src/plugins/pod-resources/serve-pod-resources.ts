import { Server, type ServerUnaryCall, type sendUnaryData, status } from '@grpc/grpc-js';
import { aborted } from '../../base/aborted.ts';
import { errorText } from '../../base/error-text.ts';
import type { Log } from '../../base/log.ts';
import { TokenBucket } from '../../base/token-bucket.ts';
import { bindPrivately, listeningServers } from '../../cri/bind-privately.ts';
import type { Clock } from '../../host/clock.ts';
import type { FileSystem } from '../../host/file-system.ts';
import { PodResourcesListerDefinition } from '../generated/podresources-v1.ts';
import { pluginChannel } from '../plugin-channel.ts';
import type { PodResourcesService } from './pod-resources-service.ts';

/** kubelet's DefaultQPS and DefaultBurstTokens, for all calls together. */
const RATE = { qps: 100, burst: 10 };
/** kubelet creates the socket with the umask of the service; every user of the folder may connect. */
const SOCKET_MODE = 0o755;
const FOLDER_MODE = 0o750;

export interface PodResourcesServerDeps {
  readonly fs: Pick<FileSystem, 'changeMode' | 'makeDirectory' | 'remove' | 'removeTree' | 'rename'>;
  readonly clock: Pick<Clock, 'monotonic'>;
  readonly log: Pick<Log, 'info' | 'warn'>;
}

/**
 * Serves the pod resources API at `<folder>/kubelet.sock` until the signal aborts. A socket of an earlier process is
 * replaced; the socket stays until the server stops.
 */
export async function servePodResources(
  folder: string,
  service: PodResourcesService,
  { fs, clock, log }: PodResourcesServerDeps,
  signal: AbortSignal,
): Promise<void> {
  const socketPath = `${folder}/kubelet.sock`;
  const server = new Server();
  register(server, service, new TokenBucket(RATE, clock.monotonic()), clock);
  await fs.makeDirectory(folder, FOLDER_MODE);
  await bindPrivately(server, { socketPath, mode: SOCKET_MODE, fs });
  for (const each of listeningServers(server)) {
    each.on('error', (error: unknown) =>
      log.warn('cannot accept a connection to the podresources API', { socketPath, error: errorText(error) }),
    );
  }
  log.info('Starting to serve the podresources API', { endpoint: `unix:${socketPath}` });
  try {
    await aborted(signal);
  } finally {
    server.forceShutdown();
    await fs.remove(socketPath);
  }
}

interface Codec<T> {
  encode(message: T): { finish(): Uint8Array };
  decode(bytes: Uint8Array): T;
}

interface Rpc<Request, Response> {
  readonly version: 'v1' | 'v1alpha1';
  readonly method: 'List' | 'Get' | 'GetAllocatableResources';
  readonly path: string;
  readonly requestType: Codec<Request>;
  readonly responseType: Codec<Response>;
  answer(request: Request): Response;
}

function register(
  server: Server,
  service: PodResourcesService,
  bucket: TokenBucket,
  clock: Pick<Clock, 'monotonic'>,
): void {
  const { list, get, getAllocatableResources } = PodResourcesListerDefinition.methods;
  const path = (version: string, { name }: { readonly name: string }): string =>
    `/${version}.${PodResourcesListerDefinition.name}/${name}`;
  const limit = <Request, Response>(rpc: Rpc<Request, Response>): void => {
    server.register(
      rpc.path,
      (call: ServerUnaryCall<Request, Response>, reply: sendUnaryData<Response>) => {
        const isAllowed = bucket.left(clock.monotonic()) >= 1;
        if (!isAllowed) return reply({ code: status.RESOURCE_EXHAUSTED, details: 'rejected by rate limit' });
        bucket.take();
        const { version, method } = rpc;
        const publish = (isError: boolean): void =>
          pluginChannel.publish({ kind: 'podResourcesRequest', version, method, isError });
        try {
          const answer = rpc.answer(call.request);
          publish(false);
          reply(null, answer);
        } catch (error) {
          publish(true);
          reply({ code: status.UNKNOWN, details: errorText(error) });
        }
      },
      (message) => Buffer.from(rpc.responseType.encode(message).finish()),
      (bytes) => rpc.requestType.decode(new Uint8Array(bytes)),
      'unary',
    );
  };
  const v1 = { version: 'v1' } as const;
  limit({ ...list, ...v1, method: 'List', path: path('v1', list), answer: () => service.list() });
  limit({ ...get, ...v1, method: 'Get', path: path('v1', get), answer: (request) => service.get(request) });
  limit({
    ...getAllocatableResources,
    ...v1,
    method: 'GetAllocatableResources',
    path: path('v1', getAllocatableResources),
    answer: () => service.getAllocatableResources(),
  });
  const alpha = { version: 'v1alpha1', method: 'List', path: path('v1alpha1', list) } as const;
  limit({ ...list, ...alpha, answer: () => service.listAlpha() });
}
