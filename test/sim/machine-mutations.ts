import { type Mutation, mutation } from './mutation.ts';

const CPU_STATE = 'src/kubelet/cpu-manager/cpu-state.ts';
const CPU_UPDATES = 'src/kubelet/cpu-manager/cpuset-updates.ts';
const CPU_FILE = 'src/kubelet/cpu-manager/cpu-state-file.ts';
const PLACEMENT = 'src/kubelet/topology/pod-placement.ts';
const DEVICES = 'src/kubelet/device-manager/device-allocation.ts';
const INVENTORY = 'src/kubelet/device-manager/device-inventory.ts';
const DRA = 'src/kubelet/dra/dra-manager.ts';
const PREEMPTION = 'src/kubelet/preemption/choose-victims.ts';
const SHUTDOWN = 'src/kubelet/shutdown/node-shutdown.ts';
const END_PODS = 'src/kubelet/shutdown/end-pods.ts';
const SHUTDOWN_HANDLER = 'src/kubelet/admission/shutdown-handler.ts';

/** Defects in the parts that assign resources of the machine to pods, and in those that end pods for it. */
export const MACHINE_MUTATIONS: readonly Mutation[] = [
  mutation(
    'assigned CPUs stay in the shared pool',
    CPU_STATE,
    'shared: state.shared.difference(cpus)',
    'shared: state.shared',
  ),
  mutation(
    'the shared pool of running containers is not updated',
    CPU_UPDATES,
    'await this.#deps.containers.update(id, cpus, signal);',
    '',
  ),
  mutation('assigned CPUs are not on disk', CPU_FILE, 'this.#file.markChanged();', ''),
  mutation(
    'what a pod was assigned is not taken back',
    PLACEMENT,
    'await provider.release(uid);',
    'await Promise.resolve();',
  ),
  mutation(
    'devices of other pods are free',
    DEVICES,
    '(inventory.healthy(resource) ?? NO_IDS).difference(inUse)',
    '(inventory.healthy(resource) ?? NO_IDS).difference(uid ? NO_IDS : inUse)',
  ),
  mutation(
    'unhealthy devices are healthy',
    INVENTORY,
    'devices.get(id)?.health === HEALTHY;',
    'devices.get(id) !== undefined || id === HEALTHY;',
  ),
  mutation('a shared claim is unprepared with its first pod', DRA, 'podUids.size === 1', 'podUids.size > 0'),
  mutation('a claim is prepared for every pod', DRA, '!cache.isPrepared(claimKey(info))', 'claimKey(info) !== ""'),
  mutation(
    'claims are not unprepared',
    DRA,
    'for (const [name, claims] of byDriver(unused)) {',
    'for (const [name, claims] of byDriver(unused.slice(0, 0))) {',
  ),
  mutation(
    'static pods are preempted',
    PREEMPTION,
    'if (isCriticalPod(preemptor) && !isCriticalPod(pod)) return true;',
    'if (isCriticalPod(preemptor)) return true;',
  ),
  mutation(
    'pods are admitted during a shutdown',
    SHUTDOWN_HANDLER,
    'isShuttingDown ?',
    'isShuttingDown && _.metadata.uid === "" ?',
  ),
  mutation(
    'all pods end at once before a shutdown',
    END_PODS,
    'if (group.pods.length > 0) await endGroup(',
    'if (group.pods.length > 0) void endGroup(',
  ),
  mutation('a shutdown is not delayed', SHUTDOWN, 'await endPods(this.#periods', 'void endPods(this.#periods'),
  mutation(
    'pods get their own grace period in a shutdown',
    END_PODS,
    'Math.min(seconds, pod.spec.terminationGracePeriodSeconds ?? seconds)',
    'pod.spec.terminationGracePeriodSeconds ?? seconds',
  ),
];
