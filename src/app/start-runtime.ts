import type { Log } from '../base/log.ts';
import { type ConnectOptions, type CriConnection, connectCri } from '../cri/client.ts';
import { connectInProcess } from '../cri/in-process.ts';
import type { Cri } from '../cri/services.ts';
import { unstickContainers } from '../cri/unstick-containers.ts';
import { checkRuntimeVersion } from '../cri/version-check.ts';
import type { FileSystem } from '../host/file-system.ts';
import type { AgentProcess } from './agent-process.ts';
import { DEFAULT_RUNTIME_CONFIG, type EmbeddedRuntimeConfig } from './embedded/embedded-settings.ts';
import { endpointError } from './embedded/path-owner.ts';
import { startEmbedded } from './embedded/start-embedded.ts';

/** A connection to a runtime behind a socket or in this process. */
export interface RuntimeConnection extends CriConnection {
  /** `unix://…`; absent for a runtime in this process. */
  readonly endpoint?: string;
}

/** A runtime that an agent can be built on. */
export interface StartedRuntime {
  connect(options: ConnectOptions): RuntimeConnection;
  /** Prepares the runtime for an agent: checks its version, loads the images that it must have. */
  prepare(cri: Cri, signal: AbortSignal): Promise<unknown>;
  /** Whether it holds no state of any pod, also not of pods whose removal no caller waits for. */
  isEmpty(): Promise<boolean>;
  /** Subscribes to changes of pod networks; absent: the runtime does not report them. */
  onNetworkChange?(listener: () => void): () => void;
  /** Resolves to whether nothing is left behind. */
  stop(): Promise<boolean>;
}

/** Connects to the runtime and prepares it; the connection is closed if that fails. */
export async function connectPrepared(
  runtime: StartedRuntime,
  options: ConnectOptions,
  signal: AbortSignal,
): Promise<RuntimeConnection> {
  const connection = runtime.connect(options);
  try {
    await runtime.prepare(connection, signal);
    return connection;
  } catch (error) {
    connection.close();
    throw error;
  }
}

/** `imageEndpoint`: the socket of the image service; absent: that of the runtime. */
export function connectEndpoint(endpoint: string, options: ConnectOptions, imageEndpoint = ''): RuntimeConnection {
  const { runtime, images, close } = connectCri(endpoint, options);
  const unstuck = { runtime: unstickContainers(runtime, { endpoint, ...options }), endpoint };
  if (imageEndpoint === '' || imageEndpoint === endpoint) return { ...unstuck, images, close };
  const other = connectCri(imageEndpoint, options);
  const closeBoth = (): void => {
    close();
    other.close();
  };
  return { ...unstuck, images: other.images, close: closeBoth };
}

export interface ExternalEndpoints {
  readonly runtime: string;
  /** Of the image service; empty: that of the runtime. */
  readonly images: string;
}

/** A runtime behind a socket: the agent neither starts nor stops it. */
export async function externalRuntime(
  { runtime: endpoint, images }: ExternalEndpoints,
  fs: Pick<FileSystem, 'stat'>,
  log: Log,
): Promise<StartedRuntime> {
  const error = await endpointError(fs, endpoint);
  if (error !== undefined) log.warn('other users can control the container runtime', { error });
  return {
    connect: (options) => connectEndpoint(endpoint, options, images),
    prepare: ({ runtime }, signal) => checkRuntimeVersion(runtime, endpoint, signal),
    isEmpty: async () => true,
    stop: async () => true,
  };
}

export type EmbeddedOptions = Pick<
  EmbeddedRuntimeConfig,
  'rootDir' | 'stateDir' | 'cgroupDriver' | 'streamIdleTimeoutMs'
>;

/** The embedded runtime of `nodelet kubelet`: with the network of the cluster. Its containers outlive the process. */
export async function startEmbeddedRuntime(
  options: EmbeddedOptions,
  { host, version, pid, env, unhandled }: AgentProcess,
  log: Log,
  signal: AbortSignal,
): Promise<StartedRuntime> {
  const onWaiting = (text: string): void => log.info(text);
  const runtime = await startEmbedded(
    { ...DEFAULT_RUNTIME_CONFIG, ...options, host, version, pid, env, log, unhandled, onWaiting },
    signal,
  );
  return {
    connect: (options) => connectInProcess(runtime.cri, options),
    prepare: async () => {},
    isEmpty: async () => runtime.isEmpty(),
    onNetworkChange: (listener) => runtime.onNetworkChange(listener),
    async stop() {
      await runtime.close();
      return true; // running containers are not leftovers
    },
  };
}
