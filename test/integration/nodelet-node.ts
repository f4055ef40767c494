import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { type ControlPlane, clusterSkipReason } from './cluster-fixture.ts';
import { end, launch, started } from './daemon-fixture.ts';
import { type NodePlan, nodeAddress, prepareNode } from './node-files.ts';
import { unmountBelow } from './runtime-cleanup.ts';
import { runtimeSkipReason, startRuntime, type TestRuntime } from './runtime-fixture.ts';
import { startTestCluster } from './test-cluster.ts';

export const NODELET_KUBELET = [join(import.meta.dirname, '../../bin/nodelet'), 'kubelet'] as const;
/** The lock of the only agent that a machine can have as its kubelet. */
const SOCKET = '/run/nodelet/nodelet.sock';

/** A cluster of one node: `nodelet kubelet` on the runtime of the tests. */
export interface NodeletNode {
  readonly plane: ControlPlane;
  /** The root directory of the agent. */
  readonly flags: readonly string[];
  /** Kills it with SIGKILL and starts it again on the same directory. Containers keep running. */
  restart(): Promise<void>;
  /** Stops the agent alone. */
  stopAgent(): Promise<void>;
  stop(): Promise<void>;
}

/** The options of a node without given certificates. */
export type Joining = Pick<NodePlan, 'bootstrapKubeconfig' | 'config' | 'flags'>;

/** The `{ skip }` reason of a test when it cannot run now, else `false`. */
export function nodeletNodeSkipReason(): string | false {
  if (!nodeAddress()) return 'needs an address beside loopback';
  // A socket file without a listener is not an agent.
  if (readFileSync('/proc/net/unix', 'utf8').includes(SOCKET)) return `another agent is running (${SOCKET})`;
  return clusterSkipReason() || runtimeSkipReason();
}

/** Resolves when the node is ready at the API server. */
export async function startNodeletNode(
  nodeName: string,
  prepare: (plane: ControlPlane, runtime: TestRuntime) => Promise<Joining> = async () => ({}),
  apiServerFlags: readonly string[] = [],
  runtime: () => Promise<TestRuntime> = startRuntime,
): Promise<NodeletNode> {
  const { plane, agent, stop } = await startTestCluster(
    () => runtime(),
    async (plane, runtime) => {
      const { endpoint, cgroupParent } = runtime;
      return startAgent({ plane, nodeName, endpoint, cgroupParent, ...(await prepare(plane, runtime)) });
    },
    apiServerFlags,
  );
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
      unmountBelow(folder); // volumes of pods that it did not tear down
    },
  };
}
