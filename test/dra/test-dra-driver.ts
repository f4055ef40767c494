import { mkdirSync, rmSync } from 'node:fs';
import type { Server, ServerWritableStream } from '@grpc/grpc-js';
import type { DraDriver } from '../../src/plugins/dra/dra-drivers.ts';
import {
  NodeWatchResourcesRequest,
  NodeWatchResourcesResponse,
} from '../../src/plugins/generated/dra-health-v1alpha1.ts';
import { DRAPluginDefinition } from '../../src/plugins/generated/dra-v1.ts';
import { RegistrationDefinition, type RegistrationStatus } from '../../src/plugins/generated/pluginregistration-v1.ts';
import { type GrpcServer, grpcService, serveGrpc } from '../csi/serve-grpc.ts';

export interface TestDraDriverOptions {
  readonly driver: DraDriver;
  /** kubelet's root directory: the sockets are in its `plugins` and `plugins_registry`. */
  readonly rootDir: string;
  /** Distinguishes the sockets of two plugins of one driver. */
  readonly instance?: string;
  /** Absent: the one of the instance. */
  readonly endpoint?: string;
  readonly supportedVersions?: readonly string[];
  /** The full name of the service that is served. */
  readonly service?: string;
}

/** A plugin of a DRA driver on real unix sockets. */
export interface TestDraDriver {
  /** What kubelet has answered to the registrations so far. */
  readonly statuses: readonly RegistrationStatus[];
  readonly endpoint: string;
  /** The number of open streams of health. */
  readonly streams: number;
  sendHealth(response: NodeWatchResourcesResponse): void;
  /** Ends the streams of health. */
  endHealth(): void;
  /** Closes the driver's socket only: it stays registered. */
  closeDriver(): void;
  openDriver(): Promise<void>;
  /** Removes both sockets. */
  stop(): void;
}

const HEALTH_PATH = '/v1alpha1.DRAResourceHealth/NodeWatchResources';
type HealthStream = ServerWritableStream<NodeWatchResourcesRequest, NodeWatchResourcesResponse>;

export async function startTestDraDriver(options: TestDraDriverOptions): Promise<TestDraDriver> {
  const {
    driver,
    rootDir,
    instance = 'a',
    supportedVersions = ['v1.DRAPlugin', 'v1alpha1.DRAResourceHealth'],
  } = options;
  const folder = `${rootDir}/plugins/${driver.name}`;
  const endpoint = options.endpoint ?? `${folder}/${instance}.sock`;
  const registrationSocket = `${rootDir}/plugins_registry/${driver.name}-${instance}-reg.sock`;
  for (const path of [folder, `${rootDir}/plugins_registry`]) mkdirSync(path, { recursive: true });
  const statuses: RegistrationStatus[] = [];
  const streams = new Set<HealthStream>();
  const definition = { ...DRAPluginDefinition, fullName: options.service ?? DRAPluginDefinition.fullName };
  const plugin = grpcService(definition, {
    nodePrepareResources: ({ claims }, signal) => driver.prepare(claims, signal),
    nodeUnprepareResources: ({ claims }, signal) => driver.unprepare(claims, signal),
  });
  const health = { register: (server: Server) => registerHealth(server, streams) };
  const open = (): Promise<GrpcServer> => serveGrpc(endpoint, plugin, health);
  let server: GrpcServer | undefined = options.endpoint === undefined ? await open() : undefined;
  const registration = grpcService(RegistrationDefinition, {
    getInfo: async () => ({
      ...{ type: 'DRAPlugin', name: driver.name, endpoint },
      supportedVersions: [...supportedVersions],
    }),
    async notifyRegistrationStatus(status) {
      statuses.push(status);
      return {};
    },
  });
  const registrar = await serveGrpc(registrationSocket, registration);
  return {
    statuses,
    endpoint,
    get streams() {
      return streams.size;
    },
    sendHealth(response) {
      for (const stream of streams) stream.write(response);
    },
    endHealth() {
      for (const stream of streams) stream.end();
    },
    closeDriver() {
      server?.close();
      rmSync(endpoint, { force: true });
    },
    async openDriver() {
      server = await open();
    },
    stop() {
      registrar.close();
      server?.close();
      for (const path of [registrationSocket, endpoint]) rmSync(path, { force: true });
    },
  };
}

function registerHealth(server: Server, streams: Set<HealthStream>): void {
  server.register(
    HEALTH_PATH,
    (call: HealthStream) => {
      streams.add(call);
      for (const end of ['cancelled', 'close', 'finish', 'error']) call.on(end, () => streams.delete(call));
    },
    (message: NodeWatchResourcesResponse) => Buffer.from(NodeWatchResourcesResponse.encode(message).finish()),
    (bytes) => NodeWatchResourcesRequest.decode(new Uint8Array(bytes)),
    'serverStream',
  );
}
