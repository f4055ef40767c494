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
 * Which resources pods were promised (allocated), and which their containers have (actuated), in kubelet's own files,
 * so that either agent goes on where the other was killed.
 *
 * 1. A pod is promised something when it is admitted, and something else only by a resize; whatever it asks for in
 *    between, it runs with what it was promised.
 * 2. Before a container is made, both are on disk. The writes begin when the pod is admitted and prepared, so a container
 *    rarely waits for them.
 * 3. What a container has changes only when it is made or when the runtime has taken other resources for it.
 * 4. A pod that left its source is promised nothing; one that is gone has nothing. That goes to disk in its own time.
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

  /** Rejects when one of the files cannot be trusted: kubelet does not start then either. */
  static async read({ fs, log, settings: { rootDir } }: ResourceRecordsDeps): Promise<ResourceRecords> {
    await fs.makeDirectory(rootDir, 0o755);
    const allocated = await ResourcesFile.read(`${rootDir}/allocated_pods_state`, fs);
    return new ResourceRecords(allocated, await ResourcesFile.read(`${rootDir}/actuated_pods_state`, fs), log);
  }

  /** The pod with what it was promised; itself when that is what it asks for, or when it was promised nothing yet. */
  allocated(pod: Pod): Pod {
    const allocation = this.#allocated.get(pod.metadata.uid);
    return allocation ? withAllocation(pod, allocation) : pod;
  }

  /** What its containers have; of none is anything known when `undefined`. */
  actuated(uid: string): PodResources | undefined {
    return this.#actuated.get(uid);
  }

  /** Promises the pod what it asks for. */
  allocate(pod: Pod): void {
    this.#allocated.set(pod.metadata.uid, allocationOf(pod));
    this.#flushInBackground(this.#allocated);
  }

  /** It left its source. */
  deallocate(uid: string): void {
    this.#allocated.remove(uid);
    this.#flushInBackground(this.#allocated);
  }

  /** Every source has spoken: what an earlier life promised to others is void. */
  retainOnly(uids: ReadonlySet<string>): void {
    for (const file of [this.#allocated, this.#actuated]) {
      for (const uid of file.uids) if (!uids.has(uid)) file.remove(uid);
      this.#flushInBackground(file);
    }
  }

  /** The container has, or is about to have, what its pod gives it. Rejects when that cannot be written down. */
  async recordActuated(pod: Pod, container: Container): Promise<void> {
    this.#actuate(pod, new Map([[container.name, actuationOf(pod, container)]]));
    // kubelet goes on without the one, and makes no container without the other.
    await this.#allocated.flush().catch(() => undefined);
    await this.#actuated.flush();
  }

  /** The control group of the pod has what the pod as a whole is given. */
  async recordPodActuated(pod: Pod): Promise<void> {
    const { resources } = pod.spec;
    if (!resources?.limits && !resources?.requests) return;
    const { containers = new Map(), pod: known } = this.#actuated.get(pod.metadata.uid) ?? {};
    if (known && isSameResources(known, resources)) return;
    this.#actuated.set(pod.metadata.uid, { containers, pod: resources });
    await this.#actuated.flush();
  }

  /**
   * What is about to be made of a pod of which nothing is known is what it was promised. Containers that run already
   * without a record are an earlier agent's that kept none, and never gave them anything else.
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
    file.flush().catch((error: unknown) => this.#log.error('cannot write the resources of pods', { error }));
  }
}
