import type { Agent } from './agent.ts';
import { runAllOrAbort } from '../base/run-all-or-abort.ts';
import { UndoStack } from '../base/undo-stack.ts';
import type { ConnectOptions } from '../cri/client.ts';
import type { Cri, RuntimeService } from '../cri/services.ts';
import type { Clock } from '../host/clock.ts';
import type { FileSystem } from '../host/file-system.ts';
import { type HttpServer, type Network, NetworkError } from '../host/network.ts';
import { createLocalApi, type RunningAgent } from '../kubelet/local-api/local-api.ts';
import type { VersionInfo } from '../kubelet/local-api/local-api-types.ts';
import { createLocalClient } from '../kubelet/local-api/local-client.ts';
import { CommandError } from '../cli/options/command-error.ts';
import type { RuntimeConnection } from './build-connected-agent.ts';
import { localSocket } from '../kubelet/local-api/local-socket.ts';

/** How long another agent may take to say who it is. */
const ANSWER_MS = 2_000;

/** Makes the parts of an agent in the order in which they are needed. */
export interface AgentFactory {
  /** A runtime of our own, that ends with us. */
  startRuntime(signal: AbortSignal): Promise<StartedRuntime>;
  /** An agent on that runtime; it does not work yet. */
  build(runtime: StartedRuntime, signal: AbortSignal): Promise<BuiltAgent>;
}

export interface StartedRuntime {
  connect(options: ConnectOptions): RuntimeConnection;
  /** Brings it to where an agent can begin: its version checked, the images that it is to have. */
  prepare(cri: Cri, signal: AbortSignal): Promise<unknown>;
  /** Whether it holds nothing of a pod, not even of one that nobody waits for any more. */
  isEmpty(): Promise<boolean>;
  /** Calls back when networks of pods may have come or gone; absent: it cannot tell. */
  onNetworkChange?(listener: () => void): () => void;
  /** Whether it leaves nothing behind. */
  stop(): Promise<boolean>;
}

export interface BuiltAgent {
  readonly agent: Agent;
  readonly runtime: Pick<RuntimeService, 'exec'>;
  /** What works beside the agent until the signal aborts; its failure ends the agent too. */
  runServers?(signal: AbortSignal): Promise<unknown>;
  /** Lets go of the runtime. */
  close(): void;
}

export interface LocalAgentOptions {
  readonly stateDir: string;
  readonly identity: VersionInfo;
  readonly fs: FileSystem;
  readonly network: Network;
  readonly clock: Pick<Clock, 'deadline' | 'now'>;
  /** Somebody asked over the socket for the end; resolves when the pods are gone. */
  readonly shutdown?: (graceSeconds: number | undefined) => Promise<void>;
  /** Sees the agent before it begins to work, so that nothing it tells is missed. */
  readonly onBuilt?: (agent: Agent) => void;
}

/** An agent at work, with its socket. */
export interface LocalAgent {
  readonly agent: Agent;
  readonly runtime: Pick<StartedRuntime, 'isEmpty'>;
  /** Settles when the agent's work ends: when it is stopped, or with a failure of its own. */
  readonly finished: Promise<void>;
  /**
   * Leaves the pods as they are; ends the agent, then its runtime, then the socket. Goes on after a failure. Whether
   * there were no pods to leave.
   */
  stop(): Promise<boolean>;
}

/**
 * Starts an agent: first its socket, which keeps a second one away, then the runtime, then the work. When that fails
 * or is aborted half-way, what was started is stopped again.
 */
export async function startLocalAgent(
  options: LocalAgentOptions,
  wiring: AgentFactory,
  signal: AbortSignal,
): Promise<LocalAgent> {
  const undo = new UndoStack();
  let running: RunningAgent | undefined;
  try {
    const server = await serveLocalApi(options, () => running);
    undo.push(() => server.close());
    const runtime = await wiring.startRuntime(signal);
    let isClean = true;
    undo.push(async () => {
      isClean = await runtime.stop();
    });
    const built = await wiring.build(runtime, signal);
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
    finished.catch(() => {}); // told to whoever awaits `finished`, and by `stop`
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

async function runWithServers({ agent, runServers: beside = async () => undefined }: BuiltAgent, signal: AbortSignal): Promise<void> {
  await runAllOrAbort([(each) => agent.run(each), beside], signal);
}

async function serveLocalApi(
  { stateDir, identity, fs, network, clock, shutdown }: LocalAgentOptions,
  agent: () => RunningAgent | undefined,
): Promise<HttpServer> {
  const socketPath = localSocket(stateDir);
  await fs.makeDirectory(stateDir, 0o711); // root of a pod with its own users comes through
  const api = createLocalApi({ identity, fs, clock, agent, ...(shutdown && { shutdown }) });
  try {
    return await network.serve({ socketPath, mode: 0o600 }, api);
  } catch (error) {
    if (!(error instanceof NetworkError && error.code === 'EADDRINUSE')) throw error;
    const pid = await agentPidText(network, socketPath, clock.deadline(ANSWER_MS));
    throw new CommandError(`another agent is running (${pid}${socketPath})`, undefined, { cause: error });
  }
}

/** `pid 123, `, or nothing when who listens there is no agent. */
async function agentPidText(network: Network, socketPath: string, signal: AbortSignal): Promise<string> {
  try {
    const { pid } = await createLocalClient({ network, socketPath }).version(signal);
    return `pid ${pid}, `;
  } catch {
    return '';
  }
}

async function runCleanups(undo: UndoStack): Promise<void> {
  const failures = await undo.run(new AbortController().signal);
  if (failures.length === 1) throw failures[0];
  if (failures.length > 1) throw new AggregateError(failures, 'cannot stop everything');
}
