import {
  Server,
  ServerCredentials,
  type ServerUnaryCall,
  type ServerWritableStream,
  type sendUnaryData,
} from '@grpc/grpc-js';
import { codeToNumber } from '../../../src/cri/cri-error.ts';
import {
  AllocateRequest,
  AllocateResponse,
  type Device,
  DevicePluginDefinition,
  DevicePluginOptions,
  ListAndWatchResponse,
  PreferredAllocationRequest,
  PreferredAllocationResponse,
} from '../../../src/plugins/generated/deviceplugin-v1beta1.ts';
import type { PluginError } from '../../../src/plugins/plugin-error.ts';

type MethodName = keyof typeof DevicePluginDefinition.methods;

/** A device plugin behind a real socket. */
export interface TestDevicePlugin {
  options: DevicePluginOptions;
  /** Sends all devices to the clients, and to those that come later. */
  report(...devices: readonly Device[]): void;
  endReports(): void;
  /** From now on; streams in progress fail at once. */
  failWith(method: MethodName, error: PluginError): void;
  hang(method: MethodName): void;
  stop(): Promise<void>;
}

export async function startDevicePlugin(socketPath: string): Promise<TestDevicePlugin> {
  const server = new Server({ 'grpc.max_send_message_length': -1 });
  const streams = new Set<ServerWritableStream<unknown, unknown>>();
  const faults = new Map<MethodName, PluginError | 'hang'>();
  let reported: readonly Device[] | undefined;
  const plugin: TestDevicePlugin = {
    options: { preStartRequired: false, getPreferredAllocationAvailable: false },
    report(...devices) {
      reported = devices;
      for (const stream of streams) stream.write({ devices });
    },
    endReports: () => {
      for (const stream of streams) stream.end();
    },
    failWith(method, error) {
      faults.set(method, error);
      if (method === 'listAndWatch') for (const stream of streams) stream.emit('error', toGrpcError(error));
    },
    hang: (method) => faults.set(method, 'hang'),
    stop: async () => server.forceShutdown(),
  };
  const unary = (method: MethodName, answer: (request: unknown) => unknown): void => {
    const { name, requestType, responseType } = DevicePluginDefinition.methods[method];
    server.register(
      `/v1beta1.DevicePlugin/${name}`,
      (call: ServerUnaryCall<unknown, unknown>, done: sendUnaryData<unknown>) => {
        const fault = faults.get(method);
        if (fault === 'hang') return;
        if (fault) done(toGrpcError(fault));
        else done(null, answer(call.request));
      },
      (message) => Buffer.from((responseType as Codec).encode(message).finish()),
      (bytes) => (requestType as Codec).decode(new Uint8Array(bytes)),
      'unary',
    );
  };
  unary('getDevicePluginOptions', () => DevicePluginOptions.fromPartial(plugin.options));
  unary('getPreferredAllocation', (request) => {
    const [one] = PreferredAllocationRequest.fromPartial(request as PreferredAllocationRequest).containerRequests;
    return PreferredAllocationResponse.fromPartial({
      containerResponses: [{ deviceIDs: (one?.availableDeviceIDs ?? []).toReversed() }],
    });
  });
  unary('allocate', (request) => {
    const [one] = AllocateRequest.fromPartial(request as AllocateRequest).containerRequests;
    const envs = { DEVICES: (one?.devicesIds ?? []).join(',') };
    return AllocateResponse.fromPartial({ containerResponses: [{ envs }] });
  });
  unary('preStartContainer', () => ({}));
  server.register(
    '/v1beta1.DevicePlugin/ListAndWatch',
    (call: ServerWritableStream<unknown, unknown>) => {
      streams.add(call);
      call.on('cancelled', () => streams.delete(call));
      if (reported) call.write({ devices: reported });
    },
    (message: unknown) => Buffer.from(ListAndWatchResponse.encode(message as ListAndWatchResponse).finish()),
    () => ({}),
    'serverStream',
  );
  await new Promise<void>((resolve, reject) => {
    server.bindAsync(`unix:${socketPath}`, ServerCredentials.createInsecure(), (error) =>
      error ? reject(error) : resolve(),
    );
  });
  return plugin;
}

interface Codec {
  encode(message: unknown): { finish(): Uint8Array };
  decode(bytes: Uint8Array): unknown;
}

function toGrpcError(error: PluginError): Error & { readonly code: number; readonly details: string } {
  const details = error.message;
  return Object.assign(new Error(details), { code: codeToNumber(error.code), details });
}
