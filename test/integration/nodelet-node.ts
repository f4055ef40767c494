import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { type ControlPlane, clusterSkipReason } from './cluster-fixture.ts';
import { startClusterScene } from './cluster-scene.ts';
import { unmountBelow } from './containerd-leftovers.ts';
import { end, launch, started } from './daemon-fixture.ts';
import { type NodePlan, nodeAddress, prepareNode } from './node-place.ts';
import { runtimeSkipReason, startRuntime, type TestRuntime } from './runtime-fixture.ts';

export const NODELET_KUBELET = [join(import.meta.dirname, '../../bin/nodelet'), 'kubelet'] as const;
/** Of the one agent that a machine can have as its kubelet. */
const SOCKET = '/run/nodelet/nodelet.sock';

/** A cluster of one node: `nodelet kubelet` on the runtime of the tests. */
export interface NodeletNode {
  readonly plane: ControlPlane;
  /** Of the agent. */
  readonly flags: readonly string[];
  /** Ends it with SIGKILL and starts it again on the same folder. Containers go on. */
  restart(): Promise<void>;
  /** Ends the agent alone. */
  stopAgent(): Promise<void>;
  stop(): Promise<void>;
}

/** What differs from a node that was given its certificates, and nothing else. */
export type Joining = Pick<NodePlan, 'bootstrapKubeconfig' | 'config' | 'flags'>;

/** Why there cannot be one now, for `{ skip }` of a test; `false` when there can. */
export function nodeletNodeSkipReason(): string | false {
  if (!nodeAddress()) return 'needs an address beside loopback';
  // A file that nobody listens on is no agent.
  if (readFileSync('/proc/net/unix', 'utf8').includes(SOCKET)) return `another agent is running (${SOCKET})`;
  return clusterSkipReason() || runtimeSkipReason();
}

/** Resolves when the API server has it as a node that is ready. */
export async function startNodeletNode(
  nodeName: string,
  prepare: (plane: ControlPlane, runtime: TestRuntime) => Promise<Joining> = async () => ({}),
): Promise<NodeletNode> {
  const { plane, agent, stop } = await startClusterScene(startRuntime, async (plane, runtime) => {
    const { endpoint, cgroupParent } = runtime;
    return startAgent({ plane, nodeName, endpoint, cgroupParent, ...(await prepare(plane, runtime)) });
  });
  const { flags, restart, stop: stopAgent } = agent;
  return { plane, flags, restart, stopAgent, stop };
}

async function startAgent(plan: NodePlan): Promise<Pick<NodeletNode, 'flags' | 'restart' | 'stop'>> {
  const { plane, nodeName } = plan;
  const { folder, logPath, flags } = await prepareNode(plan);
  const log = (): string => readFileSync(logPath, 'utf8');
  const start = () => {
    const daemon = launch([...NODELET_KUBELET, ...flags], logPath);
    const isReady = async (): Promise<boolean> => log().slice(before).includes('started');
    return started(daemon, isReady, logPath);
  };
  let before = 0;
  let daemon = await start();
  await using undo = new AsyncDisposableStack();
  undo.defer(() => end(daemon, 'SIGKILL'));
  await plane.wait(`node/${nodeName}`, 'create', 'condition=Ready');
  undo.move();
  return {
    flags,
    async restart() {
      await end(daemon, 'SIGKILL');
      before = log().length;
      daemon = await start();
    },
    async stop() {
      await end(daemon, 'SIGTERM');
      unmountBelow(folder); // the volumes of pods that it had no time for
    },
  };
}
