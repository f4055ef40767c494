import { CriError } from '../cri-error.ts';
import type { RuntimeHandlerFeatures } from '../generated/runtime-v1.ts';
import type { Cri } from '../services.ts';
import type { ContainerBehaviour } from './behaviour.ts';
import { containerCalls, knownContainer } from './container-calls.ts';
import { exit, type ProcessExit } from './container-lifecycle.ts';
import { execCalls } from './exec-calls.ts';
import { FailureInjector, withInjectedFailures } from './failure-injector.ts';
import { FakeWorld, type WorldOptions } from './fake-world.ts';
import { addImage, imageCalls, type RegistryImage } from './image-calls.ts';
import { nodeCalls } from './node-calls.ts';
import type { FakeContainer, FakeSandbox } from './records.ts';
import { markSandboxLost, sandboxCalls } from './sandbox-calls.ts';
import { statsCalls } from './stats-calls.ts';

export interface FakeRuntimeOptions extends WorldOptions {
  /** `false`: GetContainerEvents is unimplemented, as in containerd 1.6. */
  readonly containerEvents?: boolean;
}

/**
 * An in-memory container runtime with the behaviour and error texts of containerd. It depends only on its clock and its
 * random source, so a run with a virtual clock and a seed is reproducible.
 */
export interface FakeRuntime {
  readonly cri: Cri;
  readonly failures: FailureInjector;
  /** By container name, for containers that start from now on. */
  readonly behaviours: Map<string, ContainerBehaviour>;
  /** Images that can be pulled, by reference. */
  readonly registry: Map<string, RegistryImage>;
  /** Reported features of handlers by name; initially none, as in containerd 1.6. The handlers are `runc` and the default. */
  readonly handlers: Map<string, RuntimeHandlerFeatures>;
  readonly sandboxes: ReadonlyMap<string, Readonly<FakeSandbox>>;
  readonly containers: ReadonlyMap<string, Readonly<FakeContainer>>;
  /** Adds a present image; returns its id. */
  addImage(reference: string, image?: RegistryImage): string;
  /** `RuntimeReady` and `NetworkReady` are initially true. */
  setCondition(
    type: string,
    condition: { readonly status: boolean; readonly reason?: string; readonly message?: string },
  ): void;
  /** The program of a container exits by itself. */
  exitContainer(id: string, ending: ProcessExit): void;
  /** A sandbox's pause process exits by itself; its containers keep running. */
  loseSandbox(id: string): void;
  /** Every event stream fails. */
  failEventStreams(): void;
}

export function createFakeRuntime({ containerEvents = true, ...options }: FakeRuntimeOptions): FakeRuntime {
  const world = new FakeWorld(options);
  const failures = new FailureInjector();
  const setCondition: FakeRuntime['setCondition'] = (type, { status, reason = '', message = '' }) => {
    world.conditions.set(type, { type, status, reason, message });
  };
  setCondition('RuntimeReady', { status: true });
  setCondition('NetworkReady', { status: true });

  const runtime = {
    ...nodeCalls(world, containerEvents),
    ...sandboxCalls(world),
    ...containerCalls(world),
    ...execCalls(world),
    ...statsCalls(world),
  };
  return {
    cri: withInjectedFailures({ runtime, images: imageCalls(world) }, failures, options.clock),
    failures,
    behaviours: world.behaviours,
    registry: world.registry,
    handlers: world.handlers,
    sandboxes: world.sandboxes,
    containers: world.containers,
    addImage: (reference, image) => addImage(world, reference, image).id,
    setCondition,
    exitContainer: (id, ending) => exit(world, knownContainer(world, id), ending),
    loseSandbox(id) {
      const sandbox = world.sandboxes.get(id);
      if (sandbox) markSandboxLost(world, sandbox);
    },
    failEventStreams: () => world.events.failAll(new CriError('Unavailable', 'error reading from server: EOF')),
  };
}
