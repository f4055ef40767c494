import { CriError } from '../cri-error.ts';
import type { RuntimeHandlerFeatures } from '../generated/runtime-v1.ts';
import type { Cri } from '../services.ts';
import type { ContainerBehaviour } from './behaviour.ts';
import { containerCalls, knownContainer } from './container-calls.ts';
import { type ProcessExit, exit } from './container-lifecycle.ts';
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
 * A container runtime in memory that answers, refuses and words its errors as containerd does. It depends on nothing
 * but its clock and its randomness, so a run with a virtual clock and a seed can be repeated exactly.
 */
export interface FakeRuntime {
  readonly cri: Cri;
  readonly failures: FailureInjector;
  /** By container name; for containers that start from now on. */
  readonly behaviours: Map<string, ContainerBehaviour>;
  /** What can be pulled, by reference. */
  readonly registry: Map<string, RegistryImage>;
  /** What it says of its handlers, by name: at first nothing, as containerd 1.6. There are two, `runc` and the nameless. */
  readonly handlers: Map<string, RuntimeHandlerFeatures>;
  readonly sandboxes: ReadonlyMap<string, Readonly<FakeSandbox>>;
  readonly containers: ReadonlyMap<string, Readonly<FakeContainer>>;
  /** Makes an image present; answers with its id. */
  addImage(reference: string, image?: RegistryImage): string;
  /** `RuntimeReady` and `NetworkReady` are true until this says otherwise. */
  setCondition(
    type: string,
    condition: { readonly status: boolean; readonly reason?: string; readonly message?: string },
  ): void;
  /** The program of a container ends by itself. */
  exitContainer(id: string, ending: ProcessExit): void;
  /** A sandbox's first process ends by itself; its containers go on. */
  loseSandbox(id: string): void;
  /** Every event stream breaks. */
  failEventStreams(): void;
}

export function createFakeRuntime({ containerEvents = true, ...options }: FakeRuntimeOptions): FakeRuntime {
  const world = new FakeWorld(options);
  const faults = new FailureInjector();
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
    cri: withInjectedFailures({ runtime, images: imageCalls(world) }, faults, options.clock),
    failures: faults,
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
