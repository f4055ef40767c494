import { Client, credentials } from '@grpc/grpc-js';
import type { Clock } from '../host/clock.ts';
import { callMetadata } from './call-metadata.ts';
import { deadlineFor } from './deadlines.ts';
import { parseEndpoint } from './endpoint.ts';
import { callStream, callUnary } from './grpc-call.ts';
import { instrument } from './instrument.ts';
import { buildCri, type Cri } from './services.ts';

/** kubelet's values: responses of up to 16 MiB, and a reconnect within three seconds. */
const CHANNEL_OPTIONS = {
  'grpc.max_receive_message_length': 16 * 1024 * 1024,
  'grpc.max_send_message_length': -1,
  'grpc.initial_reconnect_backoff_ms': 100,
  'grpc.max_reconnect_backoff_ms': 3000,
  // Not shared: `close` closes the socket, and two clients in one process do not share a back-off.
  'grpc.use_local_subchannel_pool': 1,
  'grpc.enable_http_proxy': 0,
  'grpc.service_config_disable_resolution': 1,
  'grpc.default_authority': 'localhost',
} as const;

export interface ConnectOptions {
  readonly clock: Clock;
  /** kubelet's `runtimeRequestTimeout`; deadlines.ts derives the timeout of each RPC. */
  readonly runtimeRequestTimeoutMs: number;
}

export interface CriConnection extends Cri {
  close(): void;
}

/**
 * Creates a client of the runtime at `endpoint`. It connects with the first call, and reconnects after a loss. A call to
 * a socket without a listener fails with `Unavailable` instead of waiting.
 */
export function connectCri(endpoint: string, { clock, runtimeRequestTimeoutMs }: ConnectOptions): CriConnection {
  const client = connectSocket(endpoint);
  const cri = buildCri({
    unary: (method) => (request, signal) => {
      const deadlineMs = deadlineFor(method.key, request, runtimeRequestTimeoutMs);
      return callUnary({ client, clock, method, metadata: callMetadata(), deadlineMs }, request, signal);
    },
    stream: (method) => (request, signal) => {
      const deadlineMs = deadlineFor(method.key, request, runtimeRequestTimeoutMs);
      return callStream({ client, clock, method, metadata: callMetadata(), deadlineMs }, request, signal);
    },
  });
  const traced = instrument(cri, { side: 'client', address: parseEndpoint(endpoint) });
  return { ...traced, close: () => client.close() };
}

/** A plain gRPC client, also for other services on the same socket. */
export function connectSocket(endpoint: string): Client {
  return new Client(`unix:${parseEndpoint(endpoint)}`, credentials.createInsecure(), CHANNEL_OPTIONS);
}
