import type { Container, Pod } from '../../api/generated/core-v1.ts';
import { ExpectedError } from '../../base/expected-error.ts';
import type { FileSystem } from '../../host/file-system.ts';
import type { ContainerRunOptions } from '../pod/container-run-options.ts';
import type { MemoryBlock } from '../pod-resources/allocated-resources.ts';
import type { HintProvider, HintsByResource, TopologyHint } from '../topology/hint-provider.ts';
import { placementChannel } from '../topology/placement-channel.ts';
import { assignMemory, hasEnded } from './assign-memory.ts';
import { stateError } from './machine-memory.ts';
import { assignedHints, hintsForAll, possibleHints } from './memory-hints.ts';
import { containerMemory, getsMemory, type MemoryRequests, podMemory } from './memory-requests.ts';
import { blocksOf, type MachineMemory, type MemoryState, withoutContainer } from './memory-state.ts';
import { MemoryStateFile } from './memory-state-file.ts';
import { isEndingInit, NO_REUSE, reusableOf } from './reusable-memory.ts';

const NO_HINTS: HintsByResource = new Map();

export interface MemoryManagerDeps {
  readonly fs: FileSystem;
  readonly rootDir: string;
  /** The memory of the machine without assignments. */
  readonly machine: MachineMemory;
}

/**
 * Assigns memory of NUMA nodes to the containers of Guaranteed pods: kubelet's memory manager with the policy Static, and its
 * checkpoint file.
 *
 * 1. A node is used by itself or in one group of nodes, never both.
 * 2. Containers use the memory of init containers of their pod again, which have ended when they start. It is free for other
 *    pods once a later container starts.
 */
export class MemoryManager implements HintProvider {
  readonly #file: MemoryStateFile;
  #reuse = NO_REUSE;

  private constructor(file: MemoryStateFile) {
    this.#file = file;
  }

  /** Rejects with kubelet's message for a checkpoint that is corrupt, of another policy or of another machine. */
  static async start({ fs, rootDir, machine }: MemoryManagerDeps): Promise<MemoryManager> {
    const file = await MemoryStateFile.read({ fs, rootDir }, 'Static');
    const error = stateError(file.state, machine);
    if (error !== undefined) throw new ExpectedError(error);
    if (file.state.machine.size === 0) file.set({ ...file.state, machine });
    await file.flush();
    return new MemoryManager(file);
  }

  concerns(pod: Pod): boolean {
    return getsMemory(pod);
  }

  assignedUids(): readonly string[] {
    return [...this.#state.assignments.keys()];
  }

  containerHints(pod: Pod, container: Container): HintsByResource {
    if (hasEnded(this.#state, pod, container.name)) return NO_HINTS;
    return this.#hints(
      pod,
      [container],
      readable(() => containerMemory(container)),
    );
  }

  podHints(pod: Pod): HintsByResource {
    const { initContainers = [], containers } = pod.spec;
    return this.#hints(
      pod,
      [...initContainers, ...containers],
      readable(() => podMemory(pod)),
    );
  }

  async allocate(pod: Pod, container: Container, hint: TopologyHint): Promise<void> {
    const isPinned = getsMemory(pod);
    if (isPinned) placementChannel.publish({ kind: 'memoryRequested' });
    const { state, reuse } = this.#assigned(pod, container, hint, isPinned);
    this.#reuse = reuse;
    this.#file.set(state);
    await this.#file.flush();
  }

  #assigned(pod: Pod, container: Container, hint: TopologyHint, isPinned: boolean): ReturnType<typeof assignMemory> {
    try {
      return assignMemory({ state: this.#state, reuse: this.#reuse }, pod, container, hint);
    } catch (error) {
      if (isPinned) placementChannel.publish({ kind: 'memoryFailed' });
      throw error;
    }
  }

  async release(uid: string): Promise<void> {
    const containers = this.#state.assignments.get(uid)?.keys() ?? [];
    this.#file.set([...containers].reduce((state, name) => withoutContainer(state, uid, name), this.#state));
    await this.#file.flush();
  }

  /** Called before a container is created: the init containers before it have ended, and their memory is free. */
  async runOptions(pod: Pod, container: Container): Promise<ContainerRunOptions> {
    const { uid } = pod.metadata;
    this.#file.set(
      endedInits(pod, container.name).reduce((state, name) => withoutContainer(state, uid, name), this.#state),
    );
    await this.#file.flush();
    const nodes = (blocksOf(this.#state, uid, container.name) ?? []).flatMap(({ numaAffinity }) => numaAffinity);
    if (nodes.length === 0) return {};
    return { cpusetMems: [...new Set(nodes)].sort((one, other) => one - other).join(',') };
  }

  /** For the pod resources API. */
  memory(uid: string, container: string): readonly MemoryBlock[] {
    const blocks = blocksOf(this.#state, uid, container) ?? [];
    return blocks.map(({ type, size, numaAffinity }) => ({ type, bytes: size, numaNodes: numaAffinity }));
  }

  allocatable(): readonly MemoryBlock[] {
    return [...this.#state.machine].flatMap(([id, { memoryMap }]) =>
      [...memoryMap].flatMap(([type, { allocatable }]) =>
        allocatable === 0 ? [] : [{ type, bytes: allocatable, numaNodes: [id] }],
      ),
    );
  }

  get #state(): MemoryState {
    return this.#file.state;
  }

  /** The hints of the first container that has memory already; otherwise those of free memory. */
  #hints(pod: Pod, containers: readonly Container[], requests: MemoryRequests | undefined): HintsByResource {
    const { uid } = pod.metadata;
    if (!requests || requests.size === 0 || !getsMemory(pod)) return NO_HINTS;
    const assigned = containers.find(({ name }) => blocksOf(this.#state, uid, name));
    if (assigned) return assignedHints(requests, blocksOf(this.#state, uid, assigned.name) ?? []);
    return hintsForAll(requests, possibleHints(this.#state.machine, requests, reusableOf(this.#reuse, uid)));
  }
}

/** `undefined` for an amount that `allocate` rejects. */
function readable(read: () => MemoryRequests): MemoryRequests | undefined {
  try {
    return read();
  } catch {
    return undefined;
  }
}

function endedInits(pod: Pod, container: string): readonly string[] {
  const names = (pod.spec.initContainers ?? []).map(({ name }) => name);
  const at = names.indexOf(container);
  return (at < 0 ? names : names.slice(0, at)).filter((name) => isEndingInit(pod, name));
}
