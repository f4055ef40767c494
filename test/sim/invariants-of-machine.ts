import type { Container, Pod } from '../../src/api/generated/core-v1.ts';
import { byCodePoint } from '../../src/base/code-point-order.ts';
import { CpuSet } from '../../src/base/cpu-set.ts';
import type { FakeContainer } from '../../src/cri/fake/records.ts';
import { exclusiveCpus } from '../../src/kubelet/cpu-manager/requested-cpus.ts';
import { findContainer } from '../../src/kubelet/pod/find-container.ts';
import type { CheckContext } from './check-context.ts';
import { DEVICES } from './plan-machine.ts';
import type { PodRecord } from './pod-records.ts';

/** The CPU that is reserved for the system. */
const RESERVED_CPU = 0;
/** The time in which the shared pool follows an assignment. */
const FOLLOW_MS = 25_000;

/** Checks what a container was created with. */
export function checkPlacement(pod: PodRecord, container: Readonly<FakeContainer>, context: CheckContext): void {
  const { machine } = context;
  if (!machine) return;
  const name = container.config.metadata?.name ?? '';
  const { pod: version, container: spec } = specOf(pod, name);
  if (!version || !spec) return;
  checkCpuCount(pod, container, exclusiveCpus(version, spec), context);
  const ids = devicesOf(container);
  for (const resource of DEVICES.keys()) {
    const wanted = Number(spec.resources?.limits?.[resource] ?? 0);
    const has = ids.filter((id) => isOf(resource, id));
    // A resource that no plugin has reported yet is unknown: a scheduler binds no such pod to the node.
    if (has.length === 0 && !machine.devices.isReported(resource)) continue;
    if (has.length !== wanted) context.fail(37, `${pod.uid}/${name} has ${has} instead of ${wanted} of ${resource}`);
  }
  checkKept(pod, container, exclusiveCpus(version, spec) > 0, context);
}

function checkCpuCount(
  pod: PodRecord,
  container: Readonly<FakeContainer>,
  count: number,
  { fail }: CheckContext,
): void {
  const cpus = cpusOf(container);
  const what = `${pod.uid}/${container.config.metadata?.name}`;
  if (cpus.isEmpty) return fail(36, `${what} is created without a set of CPUs`);
  if (count === 0) return;
  if (cpus.size !== count) fail(36, `${what} has the CPUs ${cpus} instead of ${count}`);
  if (cpus.list.includes(RESERVED_CPU)) fail(36, `${what} has the reserved CPU`);
}

/** The next container of a name has the same CPUs and devices, also by another agent process. */
function checkKept(
  pod: PodRecord,
  container: Readonly<FakeContainer>,
  isExclusive: boolean,
  { fail }: CheckContext,
): void {
  const name = container.config.metadata?.name ?? '';
  const cpus = isExclusive ? cpusOf(container).toString() : '';
  const devices = devicesOf(container).join();
  const key = `${pod.incarnation} ${name}`;
  const before = pod.placements.get(key);
  pod.placements.set(key, { cpus, devices });
  if (!before) return;
  if (before.cpus !== cpus) fail(38, `${pod.uid}/${name} had the CPUs ${before.cpus}, and now ${cpus}`);
  if (before.devices !== devices && before.devices !== '')
    fail(38, `${pod.uid}/${name} had the devices ${before.devices}, and now ${devices}`);
}

/** No running container has a CPU or a device of another one that runs. */
export function checkExclusive(started: Readonly<FakeContainer>, context: CheckContext): void {
  const { machine, records, runtime, fail } = context;
  if (!machine) return;
  const [cpus, devices] = [exclusiveOf(started, context), new Set(devicesOf(started))];
  const what = nameOf(started);
  for (const other of runtime.containers.values()) {
    if (other.id === started.id || other.state.phase !== 'running' || !records.podOf(other)) continue;
    const both = cpus.intersection(exclusiveOf(other, context));
    if (!both.isEmpty) fail(36, `the CPUs ${both} of ${what} belong to ${nameOf(other)}, too`);
    const shared = devicesOf(other).filter((id) => devices.has(id));
    if (shared.length > 0) fail(37, `the devices ${shared} of ${what} belong to ${nameOf(other)}, too`);
  }
}

/** The CPUs of a running container change only if they are those of the shared pool. */
export function checkCpuUpdate(request: unknown, context: CheckContext): void {
  const { machine, runtime, fail } = context;
  // The request type of the method.
  const { containerId, linux } = request as { containerId: string; linux?: { cpusetCpus: string } };
  const container = runtime.containers.get(containerId);
  if (!machine || container?.state.phase !== 'running' || !linux?.cpusetCpus) return;
  const cpus = exclusiveOf(container, context);
  if (!cpus.isEmpty && cpus.toString() !== linux.cpusetCpus)
    fail(38, `the CPUs of ${nameOf(container)} change from ${cpus} to ${linux.cpusetCpus}`);
}

/** No container of the shared pool keeps a CPU of a container that has it exclusively. */
export function checkSharedPool(context: CheckContext): void {
  const { machine, runtime, records, clusterState, agentStartedAt, now, fail } = context;
  if (!machine || clusterState.machine.runtime === 'silent') return;
  const running = [...runtime.containers.values()].filter((each) => {
    return each.state.phase === 'running' && records.podOf(each);
  });
  const exclusive = running.filter((each) => !exclusiveOf(each, context).isEmpty);
  const startedAt = exclusive.map(({ id }) => records.containers.get(id)?.startedAt ?? now());
  const { machineFaultUntil, machine: state } = clusterState;
  const changedAt = Math.max(...startedAt, machineFaultUntil, state.runtimeSince, agentStartedAt());
  if (now() - changedAt < FOLLOW_MS || records.sourcesReported < context.sources) return;
  for (const each of running) {
    if (exclusive.includes(each)) continue;
    for (const owner of exclusive) {
      const both = cpusOf(each).intersection(exclusiveOf(owner, context));
      if (!both.isEmpty) fail(36, `${nameOf(each)} of the shared pool keeps the CPUs ${both} of ${nameOf(owner)}`);
    }
  }
}

function exclusiveOf(container: Readonly<FakeContainer>, { records }: CheckContext): CpuSet {
  const pod = records.podOf(container);
  const { pod: version, container: spec } = pod ? specOf(pod, container.config.metadata?.name ?? '') : {};
  return version && spec && exclusiveCpus(version, spec) > 0 ? cpusOf(container) : CpuSet.EMPTY;
}

function specOf(
  { versions }: PodRecord,
  name: string,
): { readonly pod?: Pod | undefined; readonly container?: Container | undefined } {
  const pod = versions.at(-1);
  return { pod, container: pod && findContainer(pod.spec, name) };
}

function cpusOf({ config }: Readonly<FakeContainer>): CpuSet {
  return CpuSet.parse(config.linux?.resources?.cpusetCpus ?? '');
}

/** The ids of the devices of plugins. */
function devicesOf({ config }: Readonly<FakeContainer>): readonly string[] {
  const names = config.devices.map(({ hostPath }) => hostPath.replace('/dev/', ''));
  return names.filter((name) => [...DEVICES.keys()].some((resource) => isOf(resource, name))).sort(byCodePoint);
}

function isOf(resource: string, id: string): boolean {
  return id.startsWith(`${resource.slice(resource.indexOf('/') + 1)}-`);
}

function nameOf({ config }: Readonly<FakeContainer>): string {
  return `${config.labels['io.kubernetes.pod.uid']}/${config.metadata?.name}`;
}
