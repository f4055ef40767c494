import type { Container, Pod, ResourceRequirements } from '../../api/generated/core-v1.ts';
import type { Log } from '../../base/log.ts';
import type { FileSystem } from '../../host/file-system.ts';
import type { PodStep } from '../pod/pod-step.ts';
import { actuationOf, allocationOf, isSameResources, type PodResources, withAllocation } from './pod-allocation.ts';
import { ResourcesFile } from './resources-file.ts';

export interface ResourceRecordsDeps {
  readonly fs: FileSystem;
  readonly log: Log;
  readonly settings: { readonly rootDir: string };
}

/**
 * The allocated and actuated resources of pods, in kubelet's own checkpoint files, so that kubelet and this agent can
 * take over from each other.
 *
 * 1. Resources are allocated at admission, and changed only by a resize. Until then the pod runs with its allocation,
 *    whatever its spec asks for.
 * 2. Both are on disk before a container is created. The writes start when the pod is admitted and prepared, so a
 *    container rarely waits for them.
 * 3. Actuated resources change only when a container is created, or when the runtime has accepted an update.
 * 4. A pod that left its source has no allocation, a removed pod has no record. These changes are written in the
 *    background.
 */
export class ResourceRecords implements PodStep {
  readonly #allocated: ResourcesFile;
  readonly #actuated: ResourcesFile;
  readonly #log: Log;

  private constructor(allocated: ResourcesFile, actuated: ResourcesFile, log: Log) {
    this.#allocated = allocated;
    this.#actuated = actuated;
    this.#log = log;
  }

  /** Rejects for a corrupt file: kubelet does not start then either. */
  static async read({ fs, log, settings: { rootDir } }: ResourceRecordsDeps): Promise<ResourceRecords> {
    await fs.makeDirectory(rootDir, 0o755);
    const allocated = await ResourcesFile.read(`${rootDir}/allocated_pods_state`, fs);
    return new ResourceRecords(allocated, await ResourcesFile.read(`${rootDir}/actuated_pods_state`, fs), log);
  }

  /** The pod with its allocated resources; the same object if it asks for exactly those or has no allocation yet. */
  allocated(pod: Pod): Pod {
    const allocation = this.#allocated.get(pod.metadata.uid);
    return allocation ? withAllocation(pod, allocation) : pod;
  }

  /** The actuated resources; `undefined` if nothing is recorded. */
  actuated(uid: string): PodResources | undefined {
    return this.#actuated.get(uid);
  }

  /** Allocates what the pod asks for. */
  allocate(pod: Pod): void {
    this.#allocated.set(pod.metadata.uid, allocationOf(pod));
    this.#flushInBackground(this.#allocated);
  }

  /** Called when the pod left its source. */
  deallocate(uid: string): void {
    this.#allocated.remove(uid);
    this.#flushInBackground(this.#allocated);
  }

  /** Called once all sources have reported: drops the records of other pods. */
  retainOnly(uids: ReadonlySet<string>): void {
    for (const file of [this.#allocated, this.#actuated]) {
      for (const uid of file.uids) if (!uids.has(uid)) file.remove(uid);
      this.#flushInBackground(file);
    }
  }

  /** Records the resources that a container has, or is about to get. Rejects if they cannot be written. */
  async recordActuated(pod: Pod, container: Container): Promise<void> {
    this.#actuate(pod, new Map([[container.name, actuationOf(pod, container)]]));
    // kubelet ignores an error of the first write, and creates no container after an error of the second.
    await this.#allocated.flush().catch(() => undefined);
    await this.#actuated.flush();
  }

  /** Records that the pod's cgroup has the pod-level resources. */
  async recordPodActuated(pod: Pod): Promise<void> {
    const { resources } = pod.spec;
    if (!resources?.limits && !resources?.requests) return;
    const { containers = new Map(), pod: known } = this.#actuated.get(pod.metadata.uid) ?? {};
    if (known && isSameResources(known, resources)) return;
    this.#actuated.set(pod.metadata.uid, { containers, pod: resources });
    await this.#actuated.flush();
  }

  /**
   * Records the allocation as actuated for a pod without a record. Containers that already run were created by an agent
   * without records, which never resized them.
   */
  async prepare(pod: Pod): Promise<void> {
    const { uid } = pod.metadata;
    if (!this.#allocated.get(uid)) this.allocate(pod);
    if (this.#actuated.get(uid)) return;
    const { initContainers = [], containers, resources } = pod.spec;
    const ofPod = resources?.limits || resources?.requests ? { pod: resources } : {};
    this.#actuated.set(uid, { containers: new Map(), ...ofPod });
    this.#actuate(pod, new Map([...initContainers, ...containers].map((each) => [each.name, actuationOf(pod, each)])));
    this.#flushInBackground(this.#actuated);
  }

  async release(): Promise<void> {}

  async purge({ metadata }: Pod): Promise<void> {
    this.#actuated.remove(metadata.uid);
    this.#flushInBackground(this.#actuated);
  }

  #actuate({ metadata: { uid } }: Pod, containers: ReadonlyMap<string, ResourceRequirements>): void {
    const before = this.#actuated.get(uid);
    const known = before?.containers ?? new Map();
    const isKnown = ([name, given]: readonly [string, ResourceRequirements]): boolean =>
      known.has(name) && isSameResources(known.get(name), given);
    if ([...containers].every(isKnown)) return;
    this.#actuated.set(uid, { ...before, containers: new Map([...known, ...containers]) });
  }

  #flushInBackground(file: ResourcesFile): void {
    file.flush().catch((error: unknown) => this.#log.error('cannot write the pod resource checkpoint', { error }));
  }
}
