/**
 * A CSI driver for tests: a gRPC server on real unix sockets that registers as node-driver-registrar does and really mounts
 * its volumes, with faults by its API, or by a control file when it runs as a process of its own.
 *
 *   scripts/node test/csi/test-csi-driver.ts --name NAME --root KUBELET_ROOT --data FOLDER
 *
 * The process keeps in FOLDER: `volumes.json` (survives a crash), `calls.jsonl` (one line per call), `status.jsonl` (what
 * kubelet answered to the registration). It reads `faults.json` with each call: a list of {"method", "fault"}; the first
 * entry of the method is taken out and applied. `{"kind": "crash", "when": "after"}` kills the process.
 */
import { appendFileSync, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { linuxFileSystem } from '../../src/host/linux/fs/linux-file-system.ts';
import { linuxMounts } from '../../src/host/linux/mount/linux-mounts.ts';
import { linuxClock } from '../../src/host/linux/process/linux-clock.ts';
import type { CsiNodeCapability } from '../../src/plugins/csi/csi-drivers.ts';
import { type CsiCall, type CsiEffects, type CsiFault, FakeCsiDriver } from '../../src/plugins/fake/fake-csi-driver.ts';
import type { FakeCsiVolume } from '../../src/plugins/fake/fake-csi-volumes.ts';
import { mountCsiVolumes } from '../../src/plugins/fake/mount-csi-volumes.ts';
import {
  NodeServiceCapability_RPC_Type as CapabilityNumber,
  IdentityDefinition,
  NodeDefinition,
} from '../../src/plugins/generated/csi-v1.ts';
import { RegistrationDefinition, type RegistrationStatus } from '../../src/plugins/generated/pluginregistration-v1.ts';
import { type GrpcServer, type GrpcService, grpcService, serveGrpc } from './serve-grpc.ts';

/** The fault of a driver process: it is killed before or after the call has its effect. */
export type ProcessFault = CsiFault | { readonly kind: 'crash'; readonly when?: 'before' | 'after' | undefined };

export interface TestCsiDriverOptions {
  readonly name: string;
  /** kubelet's root directory: the sockets are in its `plugins` and `plugins_registry`. */
  readonly rootDir: string;
  /** The folder of the volumes' data. */
  readonly dataDir: string;
  /** Absent: all. */
  readonly capabilities?: readonly CsiNodeCapability[] | undefined;
  /** What the driver does on the machine. Absent: bind mounts of folders in `dataDir`. */
  readonly effects?: CsiEffects | undefined;
  readonly supportedVersions?: readonly string[] | undefined;
  readonly pluginType?: string | undefined;
  readonly nodeInfo?: TestNodeInfo | undefined;
  readonly volumes?: Readonly<Record<string, FakeCsiVolume>> | undefined;
  readonly faultOf?: ((call: CsiCall) => CsiFault | undefined) | undefined;
  /** Called after each volume operation, before its answer is sent. */
  readonly onAnswered?: (() => void) | undefined;
  /** Called with each status that kubelet sends. */
  readonly onStatus?: ((status: RegistrationStatus) => void) | undefined;
}

export interface TestNodeInfo {
  readonly nodeId: string;
  readonly maxVolumesPerNode?: bigint;
  readonly topology?: Readonly<Record<string, string>>;
}

export interface TestCsiDriver {
  /** Its calls and volumes, and `failNext`. */
  readonly driver: FakeCsiDriver;
  /** The path of the registration socket. */
  readonly registrationSocket: string;
  /** What kubelet has answered to the registrations so far. */
  readonly statuses: readonly RegistrationStatus[];
  /** What `NodeGetInfo` answers from now on; a function that rejects answers its error. */
  answerNodeInfo(answer: () => Promise<TestNodeInfo>): void;
  /** Removes the registration socket and creates it again, as a restarted node-driver-registrar does. */
  registerAgain(): Promise<void>;
  /** Closes the driver's socket only: calls fail with `Unavailable`, the driver stays registered. */
  closeDriver(): void;
  /** Removes both sockets. */
  stop(): void;
}

/** Starts to serve the driver, then its registration. */
export async function startTestCsiDriver(options: TestCsiDriverOptions): Promise<TestCsiDriver> {
  const { name, rootDir, dataDir } = options;
  const effects = options.effects ?? mountCsiVolumes({ fs: linuxFileSystem, mounts: linuxMounts, dataDir });
  const driver = new FakeCsiDriver({ ...options, clock: linuxClock, effects });
  const endpoint = `${rootDir}/plugins/${name}/csi.sock`;
  const registrationSocket = `${rootDir}/plugins_registry/${name}-reg.sock`;
  const statuses: RegistrationStatus[] = [];
  let nodeInfo = async (): Promise<TestNodeInfo> => options.nodeInfo ?? { nodeId: `${name}-node` };
  for (const path of [`${rootDir}/plugins/${name}`, `${rootDir}/plugins_registry`, dataDir]) {
    mkdirSync(path, { recursive: true, mode: 0o750 });
  }
  rmSync(endpoint, { force: true });
  const server = await serveGrpc(
    endpoint,
    identityService(name),
    nodeService(driver, () => nodeInfo(), options),
  );
  const registration = registrationService(options, endpoint, (status) => {
    statuses.push(status);
    options.onStatus?.(status);
  });
  const register = async (): Promise<GrpcServer> => {
    rmSync(registrationSocket, { force: true });
    return serveGrpc(registrationSocket, registration);
  };
  let registrar = await register();
  return {
    driver,
    registrationSocket,
    statuses,
    answerNodeInfo(answer) {
      nodeInfo = answer;
    },
    async registerAgain() {
      registrar.close();
      registrar = await register();
    },
    closeDriver: () => server.close(),
    stop() {
      registrar.close();
      server.close();
      rmSync(registrationSocket, { force: true });
      rmSync(endpoint, { force: true });
    },
  };
}

function registrationService(
  { name, supportedVersions = ['1.0.0'], pluginType = 'CSIPlugin' }: TestCsiDriverOptions,
  endpoint: string,
  onStatus: (status: RegistrationStatus) => void,
): GrpcService {
  return grpcService(RegistrationDefinition, {
    getInfo: async () => ({ type: pluginType, name, endpoint, supportedVersions: [...supportedVersions] }),
    async notifyRegistrationStatus(status) {
      onStatus(status);
      return {};
    },
  });
}

function identityService(name: string): GrpcService {
  return grpcService(IdentityDefinition, {
    getPluginInfo: async () => ({ name, vendorVersion: 'test', manifest: {} }),
    getPluginCapabilities: async () => ({ capabilities: [] }),
    probe: async () => ({ ready: true }),
  });
}

function nodeService(
  driver: FakeCsiDriver,
  nodeInfo: () => Promise<TestNodeInfo>,
  { onAnswered }: TestCsiDriverOptions,
): GrpcService {
  const answered = <T>(work: Promise<T>): Promise<T> => work.finally(onAnswered);
  const done = async (work: Promise<void>): Promise<Record<string, never>> => {
    await answered(work);
    return {};
  };
  return grpcService(NodeDefinition, {
    nodeStageVolume: (request, signal) => done(driver.stageVolume(request, signal)),
    nodeUnstageVolume: (request, signal) => done(driver.unstageVolume(request, signal)),
    nodePublishVolume: (request, signal) => done(driver.publishVolume(request, signal)),
    nodeUnpublishVolume: (request, signal) => done(driver.unpublishVolume(request, signal)),
    nodeExpandVolume: (request, signal) => answered(driver.expandVolume(request, signal)),
    nodeGetVolumeStats: (request, signal) => answered(driver.volumeStats(request, signal)),
    nodeGetCapabilities: async () => ({
      capabilities: [...driver.capabilities].map((each) => ({ rpc: { type: CapabilityNumber[each] } })),
    }),
    async nodeGetInfo() {
      const { nodeId, maxVolumesPerNode = 0n, topology } = await nodeInfo();
      return { nodeId, maxVolumesPerNode, accessibleTopology: topology && { segments: { ...topology } } };
    },
  });
}

/** Runs as a process until it is killed. */
async function runProcess(name: string, rootDir: string, dataDir: string): Promise<void> {
  mkdirSync(dataDir, { recursive: true });
  const file = (each: string): string => `${dataDir}/${each}`;
  const crash = (): never => {
    process.kill(process.pid, 'SIGKILL');
    throw new Error('killed');
  };
  const volumes = existsSync(file('volumes.json')) ? JSON.parse(readFileSync(file('volumes.json'), 'utf8')) : {};
  let crashesAfter = false;
  const test = await startTestCsiDriver({
    name,
    rootDir,
    dataDir: file('volumes'),
    volumes,
    onStatus: (status) => appendFileSync(file('status.jsonl'), `${JSON.stringify(status)}\n`),
    faultOf(call) {
      appendFileSync(file('calls.jsonl'), `${JSON.stringify(call, plainBigInt)}\n`);
      const fault = takeFault(file('faults.json'), call.method);
      if (fault?.kind !== 'crash') return fault;
      if (fault.when !== 'after') crash();
      crashesAfter = true;
      return undefined;
    },
    onAnswered() {
      writeFileSync(file('volumes.json'), JSON.stringify(test.driver.volumes));
      if (crashesAfter) crash();
    },
  });
  process.once('SIGTERM', () => {
    test.stop();
    process.exit(0);
  });
  console.log('ready');
}

function takeFault(path: string, method: string): ProcessFault | undefined {
  if (!existsSync(path)) return undefined;
  const faults: { readonly method: string; readonly fault: ProcessFault }[] = JSON.parse(readFileSync(path, 'utf8'));
  const index = faults.findIndex((each) => each.method === method);
  if (index < 0) return undefined;
  const [taken] = faults.splice(index, 1);
  writeFileSync(path, JSON.stringify(faults));
  return taken?.fault;
}

function plainBigInt(_key: string, value: unknown): unknown {
  return typeof value === 'bigint' ? Number(value) : value;
}

if (import.meta.main) {
  const { values } = parseArgs({
    options: { name: { type: 'string' }, root: { type: 'string' }, data: { type: 'string' } },
  });
  const { name, root, data } = values;
  if (!name || !root || !data)
    throw new Error('usage: test-csi-driver.ts --name NAME --root KUBELET_ROOT --data FOLDER');
  await runProcess(name, root, data);
}
