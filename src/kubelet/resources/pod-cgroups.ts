import type { Pod } from '../../api/generated/core-v1.ts';
import { type QosClass, qosClass } from '../../api/qos.ts';
import { errorText } from '../../base/error-text.ts';
import type { CgroupStats } from '../../host/cgroup-stats.ts';
import type { Cgroups, CgroupValues } from '../../host/cgroups.ts';
import { killAndRemoveCgroup } from '../../host/kill-cgroup.ts';
import type { Processes } from '../../host/processes.ts';
import { PodError } from '../pod/pod-error.ts';
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
import type { HasExclusiveCpus } from './container-resources.ts';
import { cpuShares } from './cpu-units.ts';
import { podMemoryRequest, type QosMemoryRequests, qosMemoryQos } from './memory-qos.ts';
import {
  maxCgroupValues,
  type PodCgroupHost,
  type PodCgroupSettings,
  podCgroupValues,
  podControllers,
  podCpuRequest,
} from './pod-cgroup-values.ts';
import { type QosReservedSettings, qosMemoryLimits } from './qos-reserved.ts';

const REMOVE_ROUNDS = 5;
const QOS_CLASSES: readonly QosClass[] = ['Burstable', 'BestEffort', 'Guaranteed'];

export interface PodCgroupsDeps {
  readonly cgroups: Cgroups;
  readonly processes: Processes;
  /** Reads how much memory a cgroup uses. Absent: it is not known. */
  readonly cgroupStats?: Pick<CgroupStats, 'usage'>;
  readonly settings: CgroupSettings & PodCgroupSettings & QosReservedSettings;
  readonly hostFacts: PodCgroupHost;
  /** The pod with its actuated resources. Absent: they equal the allocated ones. */
  readonly actuated?: (pod: Pod) => Pod;
  /** The CPU time of these pods is not limited. Absent: no pod has exclusive CPUs. */
  readonly hasExclusiveCpus?: HasExclusiveCpus | undefined;
}

/** The requests of a pod, which its QoS class adds up. */
interface CountedPod {
  readonly qos: QosClass;
  readonly milliCpu: bigint;
  readonly memoryBytes: bigint;
}

/**
 * The cgroup of each pod: created before the sandbox, removed when nothing of the pod runs.
 *
 * 1. `prepare` may be repeated and sets the same values again. While containers still run with more than the
 *    allocation, the cgroup has room for both, because the kernel rejects limits that children exceed. `applyAllocated`
 *    ends that.
 * 2. `release` is safe without `prepare`. Remaining processes are killed: nothing of a pod outlives its cgroup.
 * 3. The CPU weight of the Burstable cgroup is the sum of the requests of its pods. With MemoryQoS the protected memory of
 *    the cgroups of the QoS classes is the sum of the requests of the pods below them. With `qosReserved` the memory of lower
 *    classes is limited to what higher ones have not requested.
 */
export class PodCgroups implements PodStep {
  readonly name = 'cgroup';
  readonly #cgroups: Cgroups;
  readonly #processes: Processes;
  readonly #cgroupStats: PodCgroupsDeps['cgroupStats'];
  readonly #settings: PodCgroupsDeps['settings'];
  readonly #host: PodCgroupHost;
  readonly #actuated: (pod: Pod) => Pod;
  readonly #hasExclusiveCpus: HasExclusiveCpus;
  /** The pods that have a cgroup, by UID. */
  readonly #pods = new Map<string, CountedPod>();

  constructor(deps: PodCgroupsDeps) {
    const { cgroups, cgroupStats, processes, settings, hostFacts } = deps;
    const { actuated = (pod) => pod, hasExclusiveCpus = () => false } = deps;
    this.#cgroups = cgroups;
    this.#cgroupStats = cgroupStats;
    this.#processes = processes;
    this.#settings = settings;
    this.#host = hostFacts;
    this.#actuated = actuated;
    this.#hasExclusiveCpus = hasExclusiveCpus;
  }

  /** Rejects with a `PodError`: kubelet's, with the cause and its fix if it is known. Other pods are not affected. */
  async prepare(pod: Pod, _signal: AbortSignal): Promise<void> {
    const qos = qosClass(pod);
    try {
      await this.#prepare(pod, qos);
    } catch (cause) {
      const text = errorText(cause);
      const name = podCgroup(pod.metadata.uid, qos, this.#settings).join(' ');
      const eventMessage = `unable to ensure pod container exists: failed to create container for [${name}] : ${text}`;
      throw new PodError('FailedCreatePodContainer', text, { eventMessage, cause });
    }
  }

  async #prepare(pod: Pod, qos: QosClass): Promise<void> {
    const path = podCgroupPath(pod, this.#settings);
    await this.#cgroups.create(path);
    await this.#cgroups.requireControllers(path, podControllers(pod, this.#settings));
    this.#pods.set(pod.metadata.uid, { qos, milliCpu: podCpuRequest(pod), memoryBytes: podMemoryRequest(pod) });
    await this.#updateQosCgroups(qos);
    await this.#cgroups.update(path, maxCgroupValues(this.#cgroupValues(this.#actuated(pod)), this.#cgroupValues(pod)));
  }

  /** The cgroup was removed, or the containers run in another one: the agent was restarted with another root. */
  async isLost(pod: Pod): Promise<boolean> {
    const missing = await this.#cgroups.missing(podCgroupPath(pod, this.#settings));
    return missing?.kind === 'paths' || missing?.kind === 'unreadable';
  }

  /** Called once the containers run with the allocated resources. */
  async applyAllocated(pod: Pod): Promise<void> {
    await this.#cgroups.update(podCgroupPath(pod, this.#settings), this.#cgroupValues(pod));
  }

  async release(pod: Pod, signal: AbortSignal): Promise<void> {
    const { uid } = pod.metadata;
    const deps = { cgroups: this.#cgroups, processes: this.#processes };
    // The spec of an orphan is unknown, so it may be of any QoS class.
    const classes = pod.spec.containers.length > 0 ? [qosClass(pod)] : QOS_CLASSES;
    for (const qos of classes)
      await killAndRemoveCgroup(this.#path(podCgroup(uid, qos, this.#settings)), deps, REMOVE_ROUNDS, signal);
    const { qos } = this.#pods.get(uid) ?? {};
    this.#pods.delete(uid);
    if (qos !== undefined) await this.#updateQosCgroups(qos);
  }

  /** UIDs of all pods that have a cgroup, from this process or a previous one. */
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

  /**
   * Removes the parent cgroups that have no pods left; with `includingRoot` also the configured root, if the agent
   * created it.
   */
  async removeAll({ includingRoot = false } = {}): Promise<void> {
    const kubepods = kubepodsCgroup(this.#settings);
    const parents = QOS_CLASSES.map((qos) => qosCgroup(qos, this.#settings));
    const above = includingRoot ? kubepods.slice(1).map((_, index) => kubepods.slice(0, -1 - index)) : [];
    for (const name of [...parents, ...above]) {
      const path = this.#path(name);
      if ((await this.#childrenOf(path)).length === 0) await this.#cgroups.remove(path);
    }
  }

  /** Updates the cgroups whose values depend on the pods of a QoS class: its own, and the parent of all. */
  async #updateQosCgroups(qos: QosClass): Promise<void> {
    for (const each of new Set<QosClass>([qos, 'Guaranteed'])) {
      const path = this.#path(qosCgroup(each, this.#settings));
      const values = this.#qosValues(each);
      if (Object.keys(values).length > 0 && (await this.#cgroups.exists(path)))
        await this.#cgroups.update(path, values);
    }
    const { qosReserved } = this.#settings;
    if (!qosReserved) return;
    for (const [each, bytes] of qosMemoryLimits(this.#memoryRequests(), qosReserved)) {
      await this.#limitMemory(this.#path(qosCgroup(each, this.#settings)), bytes);
    }
  }

  /**
   * Pods that use more already make the kernel reject the limit. Their class is limited to what they use, so that it does not
   * grow. What fails is tried again when a pod starts or ends.
   */
  async #limitMemory(path: string, memoryLimitBytes: number): Promise<void> {
    if (!(await this.#cgroups.exists(path))) return;
    try {
      await this.#cgroups.update(path, { memoryLimitBytes });
    } catch {
      const usage = (await this.#cgroupStats?.usage([path]))?.get(path)?.memory.usageBytes ?? 0;
      if (usage <= memoryLimitBytes) return;
      await this.#cgroups.update(path, { memoryLimitBytes: usage }).catch(() => undefined); // it uses more by now
    }
  }

  #memoryRequests(): QosMemoryRequests {
    const memoryOf = (one: QosClass): bigint =>
      [...this.#pods.values()].reduce((sum, each) => (each.qos === one ? sum + each.memoryBytes : sum), 0n);
    return { guaranteed: memoryOf('Guaranteed'), burstable: memoryOf('Burstable') };
  }

  #qosValues(qos: QosClass): CgroupValues {
    const pods = [...this.#pods.values()];
    const memory = qosMemoryQos(qos, this.#memoryRequests(), this.#settings, this.#host);
    if (qos === 'Guaranteed') return memory;
    const counted = qos === 'Burstable' ? pods.filter((each) => each.qos === qos) : [];
    const milliCpu = counted.reduce((sum, each) => sum + each.milliCpu, 0n);
    return { cpuShares: Number(cpuShares(milliCpu)), ...memory };
  }

  async #childrenOf(path: string): Promise<readonly string[]> {
    return (await this.#cgroups.exists(path)) ? this.#cgroups.children(path) : [];
  }

  #cgroupValues(pod: Pod): CgroupValues {
    const settings = this.#hasExclusiveCpus(pod) ? { ...this.#settings, cpuCfsQuota: false } : this.#settings;
    return podCgroupValues(pod, settings, this.#host);
  }

  #path(name: CgroupName): string {
    return cgroupPath(name, this.#settings);
  }
}
