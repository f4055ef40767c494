import type { PodStatus } from '../../src/api/generated/core-v1.ts';
import type { ExecAnswer } from '../../src/cri/fake/behaviour.ts';
import type { Effect } from '../../src/cri/fake/effects.ts';
import type { FakeContainer, FakeSandbox } from '../../src/cri/fake/records.ts';
import type { ContainerConfig } from '../../src/cri/generated/runtime-v1.ts';
import type { CriMethod } from '../../src/cri/services.ts';
import type { CheckContext } from './check-context.ts';
import { checkClaimsOf } from './invariants-of-claims.ts';
import { checkDisksOf } from './invariants-of-disks.ts';
import { checkKill, checkStop } from './invariants-of-ends.ts';
import { checkBarrier, checkEndInTime, checkPreStop, noteHook, notePreStop, noteStop } from './invariants-of-hooks.ts';
import { checkCpuUpdate, checkExclusive, checkPlacement } from './invariants-of-machine.ts';
import { checkEnvironment } from './invariants-of-objects.ts';
import { checkEviction } from './invariants-of-pressure.ts';
import { checkRejection } from './invariants-of-rejections.ts';
import { checkInitsRestarted, checkRemovedCause, hasRestartedAll } from './invariants-of-restarts.ts';
import { checkEndReason, checkNotAdmitted, isReadmitted } from './invariants-of-shutdown.ts';
import { checkBackoff, checkInitOrder, checkRestartPolicy } from './invariants-of-starts.ts';
import { exceedsNode } from './plan-claims.ts';
import { type PodRecord, startNewIncarnation } from './pod-records.ts';
import type { HookKind } from './program.ts';

/** Checks that run on every call, effect and status; the numbers are those of README.md. */
export class Invariants {
  readonly #context: CheckContext;
  #imagesListedAt = 0;

  constructor(context: CheckContext) {
    this.#context = context;
  }

  /** Checks a CRI call before it has any effect. */
  call(method: CriMethod, request: unknown): void {
    if (method === 'stopContainer') return this.#noteStop(request);
    if (method === 'execSync') return this.#noteExec(request);
    if (method === 'listImages') this.#imagesListedAt = this.#context.now();
    if (method === 'updateContainerResources') return checkCpuUpdate(request, this.#context);
    if (method === 'removeImage') return this.#checkImage(request);
    if (method !== 'runPodSandbox' && method !== 'createContainer' && method !== 'startContainer') return;
    const { fail, now } = this.#context;
    const pod = this.#subjectOf(request);
    const what = `${method} for ${pod?.uid}`;
    if (method === 'runPodSandbox' && pod) this.#startNewIncarnationOnceEmpty(pod, true);
    if (!pod?.reported) return fail(3, `${what}, which no source has reported`);
    if (pod.reported.as !== 'wanted' && pod.reported.at < now())
      return fail(3, `${what}, which the agent knows as ${pod.reported.as}`);
    if (pod.overAt !== undefined && pod.overAt < now()) return fail(3, `${what}, which has ended as ${pod.phase}`);
    if (exceedsNode(pod.reported.pod)) return fail(3, `${what}, which may not run here`);
    if (method !== 'startContainer') checkNotAdmitted(pod, what, this.#context);
  }

  effect(effect: Effect): void {
    const { records, now } = this.#context;
    const pod = records.podOf('sandbox' in effect ? effect.sandbox : effect.container);
    if (pod) pod.changedAt = now();
    switch (effect.kind) {
      case 'sandboxReady':
        return this.#sandboxReady(effect.sandbox);
      case 'created':
        records.created(effect.container);
        if (pod) checkEnvironment(pod, effect.container, this.#context);
        checkDisksOf(effect.container, this.#context);
        if (pod) checkPlacement(pod, effect.container, this.#context);
        if (pod) checkClaimsOf(pod, effect.container, this.#context);
        return this.#alone(effect.container);
      case 'started':
        return this.#started(effect.container);
      case 'terminating':
        return this.#terminating(effect.container, effect.graceSeconds);
      case 'killed':
        return this.#killed(effect.container);
      case 'exited':
        return this.#exited(effect.container);
      case 'removed':
        return this.#removed(effect.container);
      default:
        return undefined;
    }
  }

  /** Checks a new status of a pod. */
  status(uid: string, status: PodStatus): void {
    const { records, fail, now } = this.#context;
    const pod = records.pods.get(uid);
    if (!pod?.reported) return fail(11, `a status of ${uid}, which no source has reported`);
    const isOver = status.phase === 'Succeeded' || status.phase === 'Failed';
    if (!isOver) this.#startNewIncarnationOnceEmpty(pod, pod.overAt !== undefined);
    checkRejection(pod, status, this.#context);
    checkEviction(pod, status, this.#context);
    checkEndReason(pod, status, this.#context);
    pod.endReason = isOver ? status.reason : undefined;
    // As with kubelet, a new agent process admits static pods anew, also those that have ended.
    if (isOver && isReadmitted(pod, status, this.#context)) pod.phase = status.phase;
    if (pod.overAt !== undefined && status.phase !== pod.phase) {
      fail(11, `${uid} went from ${pod.phase} to ${status.phase}`);
    }
    if (isOver) pod.overAt ??= now();
    pod.phase = status.phase;
    pod.statusAt = now();
    pod.hasReason = status.reason !== undefined;
    for (const { name, restartCount } of [
      ...(status.initContainerStatuses ?? []),
      ...(status.containerStatuses ?? []),
    ]) {
      const before = pod.restartCounts.get(name) ?? 0;
      if (restartCount < before) fail(11, `restarts of ${uid}/${name} went from ${before} to ${restartCount}`);
      pod.restartCounts.set(name, restartCount);
    }
  }

  /** Records that a hook begins to run in a container. */
  hook(config: ContainerConfig, kind: HookKind, answer: ExecAnswer): void {
    const container = [...this.#context.runtime.containers.values()].find((each) => each.config === config);
    const record = this.#context.records.containers.get(container?.id ?? '');
    if (record) noteHook(record, kind, answer, this.#context);
  }

  /** No image is removed that a container used when the agent last listed images. */
  #checkImage(request: unknown): void {
    const { records, runtime, fail } = this.#context;
    const { image } = request as { image?: { image: string } }; // the request type of the method
    const user = [...runtime.containers.values()].find(({ imageId }) => imageId === image?.image);
    const record = user && records.containers.get(user.id);
    if (record && record.createdAt < this.#imagesListedAt)
      fail(20, `the image of ${record.name} (${record.id}) is removed while in use`);
  }

  #noteExec(request: unknown): void {
    const { containerId, cmd } = request as { containerId: string; cmd: readonly string[] }; // the request type of the method
    const record = this.#context.records.containers.get(containerId);
    const pod = this.#subjectOf(request);
    if (record && pod && cmd[1] === 'preStop') notePreStop(pod, record, this.#context);
  }

  #noteStop(request: unknown): void {
    const { containerId } = request as { containerId: string }; // the request type of the method
    const record = this.#context.records.containers.get(containerId);
    if (record) noteStop(this.#subjectOf(request), record, this.#context);
    if (record && !this.#subjectOf(request)?.reported) record.wasOrphan = true;
    if (record?.endedAt !== undefined) record.exitedBeforeStop = true;
  }

  /**
   * A recreated pod starts a new incarnation when nothing of the previous one is left. A pod that always restarts keeps
   * its dead containers and starts a new incarnation when none is up (`mayHaveDead`: and it has been terminal, or gets a
   * new sandbox).
   */
  #startNewIncarnationOnceEmpty(pod: PodRecord, mayHaveDead: boolean): void {
    const { runtime, records } = this.#context;
    const { unwantedAt, incarnation, containers } = pod;
    // Also when it was removed and recreated while no agent ran.
    const wasUnwanted = containers.some((each) => each.incarnation === incarnation && each.createdAt <= unwantedAt);
    if (pod.drop !== 'returning' && !wasUnwanted) return;
    const restarts = mayHaveDead && pod.versions.at(-1)?.spec.restartPolicy === 'Always';
    const all = [...runtime.sandboxes.values(), ...runtime.containers.values()];
    const isLeft = restarts ? this.#inUse('').has(pod) : all.some((each) => records.podOf(each) === pod);
    if (!isLeft) startNewIncarnation(pod);
  }

  #subjectOf(request: unknown): PodRecord | undefined {
    const { records, runtime } = this.#context;
    const { config, podSandboxId, containerId } = request as {
      config?: { metadata?: { uid?: string } };
      podSandboxId?: string;
      containerId?: string;
    };
    const thing = runtime.containers.get(containerId ?? '') ?? runtime.sandboxes.get(podSandboxId ?? '');
    return thing ? records.podOf(thing) : records.pods.get(config?.metadata?.uid ?? '');
  }

  #sandboxReady(sandbox: Readonly<FakeSandbox>): void {
    const { records, fail } = this.#context;
    const pod = records.podOf(sandbox);
    if (!pod) return;
    const inUse = this.#inUse(sandbox.id);
    if (inUse.has(pod)) fail(1, `a second sandbox of ${pod.uid} was created while the first is in use`);
    for (const other of inUse) {
      if (other !== pod && other.fullName === pod.fullName) fail(2, `${pod.uid} is up beside ${other.uid}`);
    }
  }

  /** Pods that have a ready sandbox or a running container, except for one sandbox. */
  #inUse(exceptSandbox: string): Set<PodRecord> {
    const { records, runtime } = this.#context;
    const ready = [...runtime.sandboxes.values()].filter(({ id, state }) => state === 'ready' && id !== exceptSandbox);
    const running = [...runtime.containers.values()].filter(
      ({ state: phase, sandboxId }) => phase.phase === 'running' && sandboxId !== exceptSandbox,
    );
    return new Set([...ready, ...running].map((each) => records.podOf(each)).filter((pod) => pod !== undefined));
  }

  #alone(container: Readonly<FakeContainer>): void {
    const pod = this.#context.records.podOf(container);
    if (pod && this.#inUse(container.sandboxId).has(pod)) {
      this.#context.fail(1, `${pod.uid} uses two sandboxes at once`);
    }
  }

  #started(container: Readonly<FakeContainer>): void {
    const { records, runtime, clusterState, fail, now } = this.#context;
    const record = records.containers.get(container.id);
    const pod = records.podOf(container);
    if (!record || !pod) return;
    this.#alone(container);
    checkExclusive(container, this.#context);
    const twin = [...runtime.containers.values()].find(
      (each) =>
        each.id !== container.id &&
        each.state.phase === 'running' &&
        records.podOf(each) === pod &&
        each.config.metadata?.name === record.name,
    );
    if (twin) fail(4, `${pod.uid}/${record.name} was started while an older one runs`);
    checkInitOrder(pod, record, this.#context);
    if (!hasRestartedAll(pod)) {
      checkRestartPolicy(pod, record, this.#context);
      checkBackoff(pod, record, this.#context);
    }
    checkBarrier(pod, record, this.#context);
    checkInitsRestarted(pod, record, this.#context);
    record.startedAt = now();
    record.needsStartEvent = clusterState.machineFaultUntil < record.createdAt;
  }

  #terminating(container: Readonly<FakeContainer>, graceSeconds: number): void {
    const { records, now } = this.#context;
    const record = records.containers.get(container.id);
    const pod = records.podOf(container);
    if (!record || !pod) return;
    checkStop(pod, record, graceSeconds, this.#context);
    checkPreStop(pod, record, this.#context);
    record.stopRequestedAt ??= now();
  }

  #killed(container: Readonly<FakeContainer>): void {
    const { records } = this.#context;
    const record = records.containers.get(container.id);
    const pod = records.podOf(container);
    if (record && pod && !hasRestartedAll(pod)) checkKill(pod, record, this.#context);
  }

  #removed(container: Readonly<FakeContainer>): void {
    const record = this.#context.records.containers.get(container.id);
    const pod = this.#context.records.podOf(container);
    if (record && pod) checkRemovedCause(pod, record, this.#context);
    if (record) record.removedAt = this.#context.now();
  }

  #exited(container: Readonly<FakeContainer>): void {
    const { id, state: phase } = container;
    const record = this.#context.records.containers.get(id);
    if (!record || phase.phase !== 'exited') return;
    record.endedAt = this.#context.now();
    record.exitCode = phase.exitCode;
    const pod = this.#context.records.podOf(container);
    if (pod) checkEndInTime(pod, record, this.#context);
  }
}
