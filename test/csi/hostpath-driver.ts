import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import {
  ControllerDefinition,
  type ControllerPublishVolumeResponse,
  type CreateVolumeResponse,
  IdentityDefinition,
} from '../../src/plugins/generated/csi-v1.ts';
import { clusterTool, clusterToolsSkipReason } from '../integration/cluster-tools.ts';
import { end, launch, started } from '../integration/daemon-fixture.ts';
import { callMethod, connectGrpc, type GrpcMethod, methodsOf } from './grpc-methods.ts';

export interface HostpathDriverPlan {
  readonly name: string;
  readonly nodeName: string;
  /** Its own directory. */
  readonly folder: string;
  readonly flags?: readonly string[];
}

/** A process of the example driver of CSI, csi-driver-host-path. */
export interface HostpathDriver {
  readonly socketPath: string;
  /** Creates a volume, as a provisioner would, and returns its handle. */
  createVolume(name: string, options?: { readonly block?: boolean; readonly bytes?: number }): Promise<string>;
  /** The directory of a volume. */
  volumePath(handle: string): string;
  deleteVolume(handle: string): Promise<void>;
  /** Attaches a volume to the node, as an attacher would, and returns the publish context. */
  attach(handle: string): Promise<Readonly<Record<string, string>>>;
  detach(handle: string): Promise<void>;
  stop(): Promise<void>;
}

const MIB = 2 ** 20;
const SINGLE_NODE_WRITER = 1;

function method(service: Parameters<typeof methodsOf>[0], name: string): GrpcMethod {
  const found = methodsOf(service).find((each) => each.name === name);
  if (!found) throw new Error(`${service.fullName} has no method ${name}`);
  return found;
}

/** The `{ skip }` reason of a test when it cannot run here, else `false`. */
export function hostpathDriverSkipReason(): string | false {
  return clusterToolsSkipReason('hostpathplugin');
}

export async function startHostpathDriver(plan: HostpathDriverPlan): Promise<HostpathDriver> {
  const { name: driverName, nodeName, folder, flags = [] } = plan;
  mkdirSync(folder, { recursive: true });
  const socketPath = join(folder, 'csi.sock');
  const state = join(folder, 'state');
  const logPath = join(folder, 'driver.log');
  const command = [
    clusterTool('hostpathplugin'),
    `--drivername=${driverName}`,
    `--nodeid=${nodeName}`,
    `--endpoint=unix://${socketPath}`,
    `--statedir=${state}`,
    '-v=5',
    ...flags,
  ];
  const peer = connectGrpc(socketPath);
  const call = (name: string, request: object) => callMethod(peer, method(ControllerDefinition, name), request);
  const isReady = async (): Promise<boolean> =>
    Boolean(await callMethod(peer, method(IdentityDefinition, 'Probe'), {}));
  const daemon = await started(launch(command, logPath), isReady, logPath);
  const capability = (block: boolean) => ({
    ...(block ? { block: {} } : { mount: {} }),
    accessMode: { mode: SINGLE_NODE_WRITER },
  });
  return {
    socketPath,
    async createVolume(volume, { block = false, bytes = 10 * MIB } = {}) {
      const capacityRange = { requiredBytes: BigInt(bytes) };
      const request = { name: volume, capacityRange, volumeCapabilities: [capability(block)] };
      const { volume: created } = (await call('CreateVolume', request)) as CreateVolumeResponse;
      return created?.volumeId ?? '';
    },
    volumePath: (handle) => join(state, handle),
    async deleteVolume(volumeId) {
      await call('DeleteVolume', { volumeId });
    },
    async attach(volumeId) {
      const request = { volumeId, nodeId: nodeName, volumeCapability: capability(false) };
      const { publishContext } = (await call('ControllerPublishVolume', request)) as ControllerPublishVolumeResponse;
      return publishContext;
    },
    async detach(volumeId) {
      await call('ControllerUnpublishVolume', { volumeId, nodeId: nodeName });
    },
    async stop() {
      peer.close();
      await end(daemon, 'SIGTERM');
    },
  };
}
