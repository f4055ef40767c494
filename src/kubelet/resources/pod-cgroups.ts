import type { Pod } from '../../api/generated/core-v1.ts';
import { type QosClass, qosClass } from '../../api/qos.ts';
import { CgroupBusyError, type Cgroups, type CgroupValues } from '../../host/cgroups.ts';
import type { Processes } from '../../host/processes.ts';
import type { PodStep } from '../pod/pod-step.ts';
import {
  type CgroupName,
  type CgroupSettings,
  cgroupPath,
  kubepodsCgroup,
  podCgroup,
  podCgroupPath,
  podUidOfCgroup,
  qosCgroup,
} from './cgroup-names.ts';
import { cpuShares } from './cpu-units.ts';
import {
  type PodCgroupHost,
  type PodCgroupSettings,
  podCgroupValues,
  podCpuRequest,
  maxCgroupValues,
} from './pod-cgroup-values.ts';

const REMOVE_ATTEMPTS = 5;
const QOS_CLASSES: readonly QosClass[] = ['Burstable', 'BestEffort', 'Guaranteed'];

export interface PodCgroupsDeps {
  readonly cgroups: Cgroups;
  readonly processes: Processes;
  readonly settings: CgroupSettings & PodCgroupSettings;
  readonly hostFacts: PodCgroupHost;
  /** The pod with what its containers have; absent: they have what it was promised. */
  readonly actuated?: (pod: Pod) => Pod;
}

/**
 * The control group of each pod: made before its sandbox, removed when nothing of the pod runs any more.
 *
 * 1. `prepare` may be repeated; it sets the same values again. As long as containers have more than their pod was
 *    promised, the group has room for both: the kernel takes no limit that those below it exceed. `settle` ends that.
 * 2. `release` is safe without `prepare`. What still runs in the group is killed: nothing of a pod outlives it.
 * 3. The group of all Burstable pods weighs as much as they ask for together.
 */
export class PodCgroups implements PodStep {
  readonly name = 'cgroup';
  readonly #cgroups: Cgroups;
  readonly #processes: Processes;
  readonly #settings: PodCgroupsDeps['settings'];
  readonly #host: PodCgroupHost;
  readonly #actuated: (pod: Pod) => Pod;
  /** Thousandths of a CPU by pod UID. */
  readonly #burstable = new Map<string, bigint>();

  constructor({ cgroups, processes, settings, hostFacts, actuated = (pod) => pod }: PodCgroupsDeps) {
    this.#cgroups = cgroups;
    this.#processes = processes;
    this.#settings = settings;
    this.#host = hostFacts;
    this.#actuated = actuated;
  }

  async prepare(pod: Pod, _signal: AbortSignal): Promise<void> {
    const path = podCgroupPath(pod, this.#settings);
    const qos = qosClass(pod);
    await this.#cgroups.create(path);
    if (qos === 'Burstable') this.#burstable.set(pod.metadata.uid, podCpuRequest(pod));
    await this.#updateQosWeight(qos);
    await this.#cgroups.update(path, maxCgroupValues(this.#cgroupValues(this.#actuated(pod)), this.#cgroupValues(pod)));
  }

  /** Its containers have what it was promised. */
  async applyAllocated(pod: Pod): Promise<void> {
    await this.#cgroups.update(podCgroupPath(pod, this.#settings), this.#cgroupValues(pod));
  }

  async release(pod: Pod, signal: AbortSignal): Promise<void> {
    const { uid } = pod.metadata;
    // Of an orphan nothing but its name is known, so it may be of any class.
    const classes = pod.spec.containers.length > 0 ? [qosClass(pod)] : QOS_CLASSES;
    for (const qos of classes) await this.#remove(this.#path(podCgroup(uid, qos, this.#settings)), signal);
    const wasCounted = this.#burstable.delete(uid);
    if (wasCounted) await this.#updateQosWeight('Burstable');
  }

  /** UIDs of the pods that have a group, from this run or an earlier one. */
  async existing(): Promise<readonly string[]> {
    const found = new Set<string>();
    for (const qos of QOS_CLASSES) {
      for (const child of await this.#childrenOf(this.#path(qosCgroup(qos, this.#settings)))) {
        const uid = podUidOfCgroup(child, this.#settings);
        if (uid !== undefined) found.add(uid);
      }
    }
    return [...found];
  }

  /** Removes the groups above the pods once no pod is below them; `includingRoot` also the root, if that is ours. */
  async removeAll({ includingRoot = false } = {}): Promise<void> {
    const kubepods = kubepodsCgroup(this.#settings);
    const parents = QOS_CLASSES.map((qos) => qosCgroup(qos, this.#settings));
    const above = includingRoot ? kubepods.slice(1).map((_, index) => kubepods.slice(0, -1 - index)) : [];
    for (const name of [...parents, ...above]) {
      const path = this.#path(name);
      if ((await this.#childrenOf(path)).length === 0) await this.#cgroups.remove(path);
    }
  }

  async #updateQosWeight(qos: QosClass): Promise<void> {
    if (qos === 'Guaranteed') return;
    const requests = qos === 'Burstable' ? [...this.#burstable.values()] : [];
    const total = requests.reduce((sum, request) => sum + request, 0n);
    const path = this.#path(qosCgroup(qos, this.#settings));
    if (await this.#cgroups.exists(path)) await this.#cgroups.update(path, { cpuShares: Number(cpuShares(total)) });
  }

  async #remove(path: string, signal: AbortSignal): Promise<void> {
    for (let attempt = 1; ; attempt++) {
      signal.throwIfAborted();
      try {
        return await this.#cgroups.remove(path);
      } catch (error) {
        if (!(error instanceof CgroupBusyError) || attempt === REMOVE_ATTEMPTS) throw error;
        await Promise.all(error.pids.map((pid) => this.#kill(pid, signal)));
      }
    }
  }

  async #kill(pid: number, signal: AbortSignal): Promise<void> {
    const identity = await this.#processes.identify(pid);
    if (!identity) return;
    await this.#processes.kill(identity, 'SIGKILL');
    await this.#processes.waitForExit(identity, signal);
  }

  async #childrenOf(path: string): Promise<readonly string[]> {
    return (await this.#cgroups.exists(path)) ? this.#cgroups.children(path) : [];
  }

  #cgroupValues(pod: Pod): CgroupValues {
    return podCgroupValues(pod, this.#settings, this.#host);
  }

  #path(name: CgroupName): string {
    return cgroupPath(name, this.#settings);
  }
}
