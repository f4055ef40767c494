import { type ControlPlane, startControlPlane } from './cluster-fixture.ts';

interface Stoppable {
  stop(): Promise<void>;
}

/** A control plane, a runtime and an agent. */
export interface TestCluster<R, A> {
  readonly plane: ControlPlane;
  readonly runtime: R;
  readonly agent: A;
  /** Stops all of them. */
  stop(): Promise<void>;
}

export async function startTestCluster<R extends Stoppable, A extends Stoppable>(
  startRuntime: () => Promise<R>,
  startAgent: (plane: ControlPlane, runtime: R) => Promise<A>,
  apiServerFlags: readonly string[] = [],
): Promise<TestCluster<R, A>> {
  await using started = new AsyncDisposableStack();
  const [plane, runtime] = await startPlaneAndRuntime(startRuntime, apiServerFlags);
  started.defer(() => plane.stop());
  started.defer(() => runtime.stop());
  const agent = await startAgent(plane, runtime);
  started.defer(() => agent.stop());
  const scene = started.move();
  return { plane, runtime, agent, stop: () => scene.disposeAsync() };
}

/** Starts both in parallel; stops the one when the other fails. */
export async function startPlaneAndRuntime<R extends Stoppable>(
  startRuntime: () => Promise<R>,
  apiServerFlags: readonly string[] = [],
): Promise<[ControlPlane, R]> {
  await using standing = new AsyncDisposableStack();
  const starting = [startControlPlane(...apiServerFlags), startRuntime()] as const;
  for (const each of await Promise.allSettled(starting))
    if (each.status === 'fulfilled') standing.defer(() => each.value.stop());
  const both = await Promise.all(starting);
  standing.move();
  return both;
}
