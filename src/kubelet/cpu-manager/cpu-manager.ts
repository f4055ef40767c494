import type { Container, Pod } from '../../api/generated/core-v1.ts';
import { CpuSet } from '../../base/cpu-set.ts';
import { KeyedMutex } from '../../base/keyed-mutex.ts';
import type { Log } from '../../base/log.ts';
import type { Clock } from '../../host/clock.ts';
import type { FileSystem } from '../../host/file-system.ts';
import type { ContainerRunOptions } from '../pod/container-run-options.ts';
import {
  AllocationError,
  type HintProvider,
  type HintsByResource,
  type TopologyHint,
} from '../topology/hint-provider.ts';
import type { MachineTopology } from '../topology/machine-topology.ts';
import { placementChannel } from '../topology/placement-channel.ts';
import type { ContainerOwner } from './cpu-checkpoint.ts';
import { type CpuManagerSettings, createPolicy } from './cpu-manager-settings.ts';
import { allAssignedCpus, assign, assignedCpus, type CpuState, release } from './cpu-state.ts';
import { CpuStateFile } from './cpu-state-file.ts';
import { type ContainerCpusets, CpusetUpdates } from './cpuset-updates.ts';
import { exclusiveCpus, runsToCompletion } from './requested-cpus.ts';
import type { StaticPolicy } from './static-policy.ts';
import { NotEnoughCpusError } from './take-cpus.ts';

export interface CpuManagerDeps {
  readonly settings: CpuManagerSettings;
  readonly topology: MachineTopology;
  /** kubelet's root directory: the parent of `cpu_manager_state`. */
  readonly rootDir: string;
  readonly fs: FileSystem;
  readonly clock: Clock;
  readonly log: Log;
  readonly containers: ContainerCpusets;
  /** The containers of the runtime by id; only needed for a checkpoint of kubelet 1.17 or before. */
  readonly listOwners: () => Promise<ReadonlyMap<string, ContainerOwner>>;
}

/** How the CPUs of the machine are used. */
export interface CpuUsage {
  /** Those that containers without CPUs of their own run on, without the reserved ones. */
  readonly shared: number;
  readonly exclusive: number;
  /** Exclusive CPUs by NUMA node. */
  readonly byNumaNode: ReadonlyMap<number, number>;
  readonly takesWholeCores: boolean;
}

const RESOURCE = 'cpu';
const NO_HINTS: HintsByResource = new Map();

/**
 * Assigns exclusive CPUs to containers (static policy), or none (none policy). kubelet's CPU manager.
 *
 * 1. The assignments in memory are those on disk: a change that cannot be written is not made.
 * 2. No CPU is assigned to two pods. Within a pod, only CPUs of init containers that have ended are assigned again.
 */
export class CpuManager implements HintProvider {
  readonly #file: CpuStateFile;
  /** Absent: the none policy. */
  readonly #policy: StaticPolicy | undefined;
  readonly #disablesQuota: boolean;
  readonly #updates: CpusetUpdates;
  readonly #mutex = new KeyedMutex();
  #state: CpuState;
  /** By pod UID: CPUs of init containers that the next containers of the pod use. */
  readonly #reusable = new Map<string, CpuSet>();

  private constructor(deps: CpuManagerDeps, file: CpuStateFile, policy: StaticPolicy | undefined, state: CpuState) {
    const { settings, containers, clock, log } = deps;
    this.#file = file;
    this.#policy = policy;
    this.#disablesQuota = settings.disablesQuota;
    this.#state = state;
    const wanted = (uid: string, container: string): CpuSet => this.affinity(uid, container);
    this.#updates = new CpusetUpdates({ containers, wanted, periodMs: settings.reconcilePeriodMs, clock, log });
  }

  /** Rejects with a `CpuManagerError`, as kubelet does not start then either. */
  static async create(deps: CpuManagerDeps): Promise<CpuManager> {
    const { settings, topology, rootDir, fs, listOwners } = deps;
    const policy = createPolicy(settings, topology);
    const file = new CpuStateFile({ fs, rootDir, policy: settings.policy });
    const restored = await file.read(listOwners);
    const state = policy ? policy.start(restored) : restored;
    await file.write(state);
    return new CpuManager(deps, file, policy, state);
  }

  /** Whether the pod gets exclusive CPUs. */
  concerns(pod: Pod): boolean {
    if (this.#policy === undefined) return false;
    const containers = [...(pod.spec.initContainers ?? []), ...pod.spec.containers];
    return containers.some((container) => exclusiveCpus(pod, container) > 0);
  }

  assignedUids(): readonly string[] {
    return [...this.#state.assignments.keys()];
  }

  containerHints(pod: Pod, container: Container): HintsByResource {
    return hintsOf(this.#policy?.containerHints(this.#state, pod, container, this.#reusableOf(pod)));
  }

  podHints(pod: Pod): HintsByResource {
    return hintsOf(this.#policy?.podHints(this.#state, pod, this.#reusableOf(pod)));
  }

  async allocate(pod: Pod, container: Container, hint: TopologyHint): Promise<void> {
    const policy = this.#policy;
    const count = exclusiveCpus(pod, container);
    if (policy === undefined || count === 0) return;
    const { uid } = pod.metadata;
    placementChannel.publish({ kind: 'cpusRequested' });
    await this.#mutex.run('', async () => {
      // Unlike kubelet, which checks first whether as many whole cores were free again.
      const present = assignedCpus(this.#state, uid, container.name);
      const cpus = present ?? this.#chooseOrPublish(policy, pod, count, hint);
      if (present === undefined) await this.#change(assign(this.#state, uid, container.name, cpus));
      this.#setReusable(pod, container, cpus);
    });
  }

  async release(uid: string): Promise<void> {
    await this.#mutex.run('', async () => {
      await this.#change(release(this.#state, uid));
      this.#reusable.delete(uid);
    });
  }

  /** What is added to a container that is about to be created. */
  runOptions({ metadata: { uid } }: Pod, { name }: Container): ContainerRunOptions {
    const cpus = this.affinity(uid, name).toString();
    if (cpus === '') return {};
    this.#updates.onCreate(uid, name, cpus);
    const hasExclusiveCpus = this.#disablesQuota && assignedCpus(this.#state, uid, name) !== undefined;
    return { cpusetCpus: cpus, hasExclusiveCpus };
  }

  /** The CPUs that the container runs on: its own, or the shared pool. Empty: all of the machine. */
  affinity(uid: string, container: string): CpuSet {
    return assignedCpus(this.#state, uid, container) ?? this.#state.shared;
  }

  /** The exclusive CPUs of a container, in ascending order. */
  cpus(uid: string, container: string): readonly number[] {
    return assignedCpus(this.#state, uid, container)?.list ?? [];
  }

  /** How many CPUs are shared and exclusive, for metrics; `undefined` with the none policy. */
  get usage(): CpuUsage | undefined {
    const policy = this.#policy;
    if (policy === undefined) return undefined;
    return {
      shared: policy.available(this.#state).size,
      exclusive: allAssignedCpus(this.#state).size,
      byNumaNode: policy.exclusiveByNumaNode(this.#state),
      takesWholeCores: policy.takesWholeCores,
    };
  }

  /** The CPUs that exclusive containers could get at all. */
  get allocatableCpus(): readonly number[] {
    return this.#policy?.allocatable.list ?? [];
  }

  /** Running containers may have changed. */
  onPodObserved(): void {
    this.#updates.wake();
  }

  /** Keeps the CPUs of running containers up to date until the signal aborts. */
  async run(signal: AbortSignal): Promise<void> {
    if (this.#policy !== undefined) await this.#updates.run(signal);
  }

  #chooseOrPublish(policy: StaticPolicy, pod: Pod, count: number, hint: TopologyHint): CpuSet {
    try {
      const cpus = this.#choose(policy, pod, count, hint);
      if (policy.takesWholeCores) placementChannel.publish({ kind: 'alignedToCores', isAligned: true });
      return cpus;
    } catch (error) {
      placementChannel.publish({ kind: 'cpusFailed' });
      if (policy.takesWholeCores) placementChannel.publish({ kind: 'alignedToCores', isAligned: false });
      throw error;
    }
  }

  #choose(policy: StaticPolicy, pod: Pod, count: number, hint: TopologyHint): CpuSet {
    try {
      policy.checkWholeCores(this.#state, count);
      return policy.choose(this.#state, count, hint, this.#reusableOf(pod));
    } catch (error) {
      if (!(error instanceof NotEnoughCpusError)) throw error;
      const message = `Allocate failed due to ${error.message}, which is unexpected`;
      throw new AllocationError('UnexpectedAdmissionError', message);
    }
  }

  async #change(state: CpuState): Promise<void> {
    if (state === this.#state) return;
    await this.#file.write(state);
    const isPoolChanged = !state.shared.equals(this.#state.shared);
    this.#state = state;
    if (isPoolChanged) this.#updates.wake();
  }

  #reusableOf({ metadata: { uid } }: Pod): CpuSet {
    return this.#reusable.get(uid) ?? CpuSet.EMPTY;
  }

  #setReusable(pod: Pod, container: Container, cpus: CpuSet): void {
    const before = this.#reusableOf(pod);
    const after = runsToCompletion(pod, container) ? before.union(cpus) : before.difference(cpus);
    if (after.isEmpty) this.#reusable.delete(pod.metadata.uid);
    else this.#reusable.set(pod.metadata.uid, after);
  }
}

function hintsOf(hints: readonly TopologyHint[] | undefined): HintsByResource {
  return hints === undefined ? NO_HINTS : new Map([[RESOURCE, hints]]);
}
