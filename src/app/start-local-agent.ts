import { runAllOrAbort } from '../base/run-all-or-abort.ts';
import { UndoStack } from '../base/undo-stack.ts';
import type { Clock } from '../host/clock.ts';
import type { FileSystem } from '../host/file-system.ts';
import { type HttpServer, type Network, NetworkError } from '../host/network.ts';
import { createLocalApi, type RunningAgent } from '../kubelet/local-api/local-api.ts';
import type { VersionInfo } from '../kubelet/local-api/local-api-types.ts';
import { createLocalClient } from '../kubelet/local-api/local-client.ts';
import { localSocket } from '../kubelet/local-api/local-socket.ts';
import type { Agent } from './agent.ts';
import type { BuiltAgent } from './build-connected-agent.ts';
import { requireOwnFolder } from './embedded/path-owner.ts';
import { StartupError } from './embedded/startup-error.ts';
import type { StartedRuntime } from './start-runtime.ts';

/** How long the agent behind the socket may take to return its version. */
const VERSION_TIMEOUT_MS = 2_000;

/** Builds an agent in two steps, called in this order. */
export interface AgentFactory {
  /** Starts or chooses the runtime. It is stopped with the agent. */
  startRuntime(signal: AbortSignal): Promise<StartedRuntime>;
  /** Builds an agent on that runtime without running it. */
  build(runtime: StartedRuntime, signal: AbortSignal): Promise<BuiltAgent>;
}

export interface LocalAgentOptions {
  readonly stateDir: string;
  readonly identity: VersionInfo;
  readonly fs: FileSystem;
  readonly network: Network;
  readonly clock: Pick<Clock, 'deadline' | 'now'>;
  /** A client of the local API requests shutdown. Resolves when the pods are gone. */
  readonly shutdown?: (graceSeconds: number | undefined) => Promise<void>;
  /** Called before the agent runs, so that a subscriber misses none of its events. */
  readonly onBuilt?: (agent: Agent) => void;
}

/** A running agent with its local API. */
export interface LocalAgent {
  readonly agent: Agent;
  readonly runtime: Pick<StartedRuntime, 'isEmpty'>;
  /** Settles when the agent stops: resolves after `stop`, rejects when the agent fails. */
  readonly finished: Promise<void>;
  /**
   * Stops the agent, then its runtime, then the local API, and leaves the pods as they are. Continues after an error.
   * Resolves to whether nothing is left behind.
   */
  stop(): Promise<boolean>;
}

/**
 * Starts an agent: first the local API, whose socket excludes a second agent, then the runtime, then the agent. Stops
 * what was started if a step fails or is aborted.
 */
export async function startLocalAgent(
  options: LocalAgentOptions,
  factory: AgentFactory,
  signal: AbortSignal,
): Promise<LocalAgent> {
  const undo = new UndoStack();
  let running: RunningAgent | undefined;
  try {
    const server = await serveLocalApi(options, () => running);
    undo.push(() => server.close());
    const runtime = await factory.startRuntime(signal);
    let isClean = true;
    undo.push(async () => {
      isClean = await runtime.stop();
    });
    const built = await factory.build(runtime, signal);
    undo.push(async () => built.close());
    signal.throwIfAborted();
    const { agent } = built;
    options.onBuilt?.(agent);
    running = { view: agent, runtime: built.runtime };
    const work = new AbortController();
    const finished = runWithServers(built, work.signal);
    undo.push(() => {
      work.abort();
      return finished;
    });
    finished.catch(() => {}); // handled by callers that await `finished`, and by `stop`
    const stop = async (): Promise<boolean> => {
      await runCleanups(undo);
      return isClean;
    };
    return { agent, runtime, finished, stop };
  } catch (error) {
    await runCleanups(undo);
    throw error;
  }
}

async function runWithServers(
  { agent, runServers = async () => undefined }: BuiltAgent,
  signal: AbortSignal,
): Promise<void> {
  await runAllOrAbort([(each) => agent.run(each), runServers], signal);
}

async function serveLocalApi(
  { stateDir, identity, fs, network, clock, shutdown }: LocalAgentOptions,
  agent: () => RunningAgent | undefined,
): Promise<HttpServer> {
  const socketPath = localSocket(stateDir);
  await fs.makeDirectory(stateDir, 0o711); // the root user of a pod's user namespace must be able to traverse it
  await requireOwnFolder(fs, stateDir);
  const api = createLocalApi({ identity, fs, clock, agent, ...(shutdown && { shutdown }) });
  try {
    return await network.serve({ socketPath, mode: 0o600 }, api);
  } catch (error) {
    if (!(error instanceof NetworkError && error.code === 'EADDRINUSE')) throw error;
    const pid = await agentPidText(network, socketPath, clock.deadline(VERSION_TIMEOUT_MS));
    throw new StartupError(`another agent is running (${pid}${socketPath})`, { cause: error });
  }
}

/** `pid 123, `; empty if the process behind the socket is not an agent. */
async function agentPidText(network: Network, socketPath: string, signal: AbortSignal): Promise<string> {
  try {
    const { pid } = await createLocalClient({ network, socketPath }).version(signal);
    return `pid ${pid}, `;
  } catch {
    return '';
  }
}

async function runCleanups(undo: UndoStack): Promise<void> {
  const errors = await undo.run(new AbortController().signal);
  if (errors.length === 1) throw errors[0];
  if (errors.length > 1) throw new AggregateError(errors, 'cannot stop everything');
}
