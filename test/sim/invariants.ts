import type { PodStatus } from '../../src/api/generated/core-v1.ts';
import type { ExecAnswer } from '../../src/cri/fake/behaviour.ts';
import type { Effect } from '../../src/cri/fake/effects.ts';
import type { FakeContainer, FakeSandbox } from '../../src/cri/fake/records.ts';
import type { ContainerConfig } from '../../src/cri/generated/runtime-v1.ts';
import type { CriMethod } from '../../src/cri/services.ts';
import { checkKill, checkStop } from './invariants-of-ends.ts';
import { checkBarrier, checkEndInTime, checkPreStop, noteHook, notePreStop, noteStop } from './invariants-of-hooks.ts';
import { checkEnvironment } from './invariants-of-objects.ts';
import { checkRejection } from './invariants-of-rejections.ts';
import { checkBeginsAnew, checkRemovedCause, hasRestartedAll } from './invariants-of-restarts.ts';
import { checkBackoff, checkInitOrder, checkRestartPolicy } from './invariants-of-starts.ts';
import { isBeyondNode } from './plan-claims.ts';
import type { HookKind } from './program.ts';
import type { Scene } from './scene.ts';
import { beginAnew, type PodRecord } from './truth.ts';

/** Everything that is checked all the time; the numbers are those of README.md. */
export class Invariants {
  readonly #scene: Scene;
  #imagesListedAt = 0;

  constructor(scene: Scene) {
    this.#scene = scene;
  }

  /** The agent asks the runtime for something; nothing has come of it yet. */
  call(method: CriMethod, request: unknown): void {
    if (method === 'stopContainer') return this.#noteStop(request);
    if (method === 'execSync') return this.#noteExec(request);
    if (method === 'listImages') this.#imagesListedAt = this.#scene.now();
    if (method === 'removeImage') return this.#checkImage(request);
    if (method !== 'runPodSandbox' && method !== 'createContainer' && method !== 'startContainer') return;
    const { fail, now } = this.#scene;
    const pod = this.#subjectOf(request);
    const what = `${method} for ${pod?.uid}`;
    if (method === 'runPodSandbox' && pod) this.#beginAnewOnceEmpty(pod, true);
    if (!pod?.told) return fail(3, `${what}, of which no source has spoken`);
    if (pod.told.as !== 'wanted' && pod.told.at < now())
      return fail(3, `${what}, which the agent knows as ${pod.told.as}`);
    if (pod.overAt !== undefined && pod.overAt < now()) return fail(3, `${what}, which has ended as ${pod.phase}`);
    if (isBeyondNode(pod.told.pod)) return fail(3, `${what}, which may not run here`);
  }

  effect(effect: Effect): void {
    const { truth, now } = this.#scene;
    const pod = truth.podOf('sandbox' in effect ? effect.sandbox : effect.container);
    if (pod) pod.changedAt = now();
    switch (effect.kind) {
      case 'sandboxReady':
        return this.#sandboxReady(effect.sandbox);
      case 'created':
        truth.created(effect.container);
        if (pod) checkEnvironment(pod, effect.container, this.#scene);
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

  /** The agent shows a new status. */
  status(uid: string, status: PodStatus): void {
    const { truth, fail, now } = this.#scene;
    const pod = truth.pods.get(uid);
    if (!pod?.told) return fail(11, `a status of ${uid}, of which no source has spoken`);
    const isOver = status.phase === 'Succeeded' || status.phase === 'Failed';
    if (!isOver) this.#beginAnewOnceEmpty(pod, pod.overAt !== undefined);
    checkRejection(pod, status, this.#scene);
    if (pod.overAt !== undefined && status.phase !== pod.phase) {
      fail(11, `${uid} went from ${pod.phase} to ${status.phase}`);
    }
    if (isOver) pod.overAt ??= now();
    pod.phase = status.phase;
    pod.statusAt = now();
    pod.isForgotten = status.reason !== undefined && pod.told.source === 'file';
    for (const { name, restartCount } of [
      ...(status.initContainerStatuses ?? []),
      ...(status.containerStatuses ?? []),
    ]) {
      const before = pod.restartCounts.get(name) ?? 0;
      if (restartCount < before) fail(11, `restarts of ${uid}/${name} went from ${before} to ${restartCount}`);
      pod.restartCounts.set(name, restartCount);
    }
  }

  /** A hook begins to run in a container. */
  hook(config: ContainerConfig, kind: HookKind, answer: ExecAnswer): void {
    const container = [...this.#scene.runtime.containers.values()].find((each) => each.config === config);
    const record = this.#scene.truth.containers.get(container?.id ?? '');
    if (record) noteHook(record, kind, answer, this.#scene);
  }

  /** No image is removed of which there was a container when the agent looked. */
  #checkImage(request: unknown): void {
    const { truth, runtime, fail } = this.#scene;
    const { image } = request as { image?: { image: string } }; // as the method says
    const user = [...runtime.containers.values()].find(({ imageId }) => imageId === image?.image);
    const record = user && truth.containers.get(user.id);
    if (record && record.createdAt < this.#imagesListedAt)
      fail(20, `the image of ${record.name} (${record.id}) is removed`);
  }

  #noteExec(request: unknown): void {
    const { containerId, cmd } = request as { containerId: string; cmd: readonly string[] }; // as the method says
    const record = this.#scene.truth.containers.get(containerId);
    const pod = this.#subjectOf(request);
    if (record && pod && cmd[1] === 'preStop') notePreStop(pod, record, this.#scene);
  }

  #noteStop(request: unknown): void {
    const { containerId } = request as { containerId: string }; // as the method says
    const record = this.#scene.truth.containers.get(containerId);
    if (record) noteStop(this.#subjectOf(request), record, this.#scene);
    if (record && !this.#subjectOf(request)?.told) record.wasLeftover = true;
    if (record?.endedAt !== undefined) record.stopCameLate = true;
  }

  /**
   * A pod that came back begins anew when nothing of its earlier time is left; one that always restarts keeps its dead
   * containers, and begins anew when none is up (`mayHaveDead`: and it has been over, or gets a new sandbox).
   */
  #beginAnewOnceEmpty(pod: PodRecord, mayHaveDead: boolean): void {
    const { runtime, truth } = this.#scene;
    const { unwantedAt, incarnation, containers } = pod;
    // Also when it went and came back while there was no agent to be told.
    const wasUnwanted = containers.some((each) => each.incarnation === incarnation && each.createdAt <= unwantedAt);
    if (pod.drop !== 'returning' && !wasUnwanted) return;
    const restarts = mayHaveDead && pod.versions.at(-1)?.spec.restartPolicy === 'Always';
    const all = [...runtime.sandboxes.values(), ...runtime.containers.values()];
    const isLeft = restarts ? this.#inUse('').has(pod) : all.some((each) => truth.podOf(each) === pod);
    if (!isLeft) beginAnew(pod);
  }

  #subjectOf(request: unknown): PodRecord | undefined {
    const { truth, runtime } = this.#scene;
    const { config, podSandboxId, containerId } = request as {
      config?: { metadata?: { uid?: string } };
      podSandboxId?: string;
      containerId?: string;
    };
    const thing = runtime.containers.get(containerId ?? '') ?? runtime.sandboxes.get(podSandboxId ?? '');
    return thing ? truth.podOf(thing) : truth.pods.get(config?.metadata?.uid ?? '');
  }

  #sandboxReady(sandbox: Readonly<FakeSandbox>): void {
    const { truth, fail } = this.#scene;
    const pod = truth.podOf(sandbox);
    if (!pod) return;
    const inUse = this.#inUse(sandbox.id);
    if (inUse.has(pod)) fail(1, `a second sandbox of ${pod.uid} while the first is in use`);
    for (const other of inUse) {
      if (other !== pod && other.fullName === pod.fullName) fail(2, `${pod.uid} is up beside ${other.uid}`);
    }
  }

  /** Pods that have a ready sandbox or a running container, the one sandbox left aside. */
  #inUse(exceptSandbox: string): Set<PodRecord> {
    const { truth, runtime } = this.#scene;
    const ready = [...runtime.sandboxes.values()].filter(({ id, state }) => state === 'ready' && id !== exceptSandbox);
    const running = [...runtime.containers.values()].filter(
      ({ state: phase, sandboxId }) => phase.phase === 'running' && sandboxId !== exceptSandbox,
    );
    return new Set([...ready, ...running].map((each) => truth.podOf(each)).filter((pod) => pod !== undefined));
  }

  #alone(container: Readonly<FakeContainer>): void {
    const pod = this.#scene.truth.podOf(container);
    if (pod && this.#inUse(container.sandboxId).has(pod)) {
      this.#scene.fail(1, `${pod.uid} uses a sandbox while another one of it is in use`);
    }
  }

  #started(container: Readonly<FakeContainer>): void {
    const { truth, runtime, book, fail, now } = this.#scene;
    const record = truth.containers.get(container.id);
    const pod = truth.podOf(container);
    if (!record || !pod) return;
    this.#alone(container);
    const twin = [...runtime.containers.values()].find(
      (each) =>
        each.id !== container.id &&
        each.state.phase === 'running' &&
        truth.podOf(each) === pod &&
        each.config.metadata?.name === record.name,
    );
    if (twin) fail(4, `${pod.uid}/${record.name} was started while an older one runs`);
    checkInitOrder(pod, record, this.#scene);
    if (!hasRestartedAll(pod)) {
      checkRestartPolicy(pod, record, this.#scene);
      checkBackoff(pod, record, this.#scene);
    }
    checkBarrier(pod, record, this.#scene);
    checkBeginsAnew(pod, record, this.#scene);
    record.startedAt = now();
    record.isToBeTold = book.machineTroubleUntil < record.createdAt;
  }

  #terminating(container: Readonly<FakeContainer>, graceSeconds: number): void {
    const { truth, now } = this.#scene;
    const record = truth.containers.get(container.id);
    const pod = truth.podOf(container);
    if (!record || !pod) return;
    checkStop(pod, record, graceSeconds, this.#scene);
    checkPreStop(pod, record, this.#scene);
    record.askedAt ??= now();
  }

  #killed(container: Readonly<FakeContainer>): void {
    const { truth } = this.#scene;
    const record = truth.containers.get(container.id);
    const pod = truth.podOf(container);
    if (record && pod && !hasRestartedAll(pod)) checkKill(pod, record, this.#scene);
  }

  #removed(container: Readonly<FakeContainer>): void {
    const record = this.#scene.truth.containers.get(container.id);
    const pod = this.#scene.truth.podOf(container);
    if (record && pod) checkRemovedCause(pod, record, this.#scene);
    if (record) record.removedAt = this.#scene.now();
  }

  #exited(container: Readonly<FakeContainer>): void {
    const { id, state: phase } = container;
    const record = this.#scene.truth.containers.get(id);
    if (!record || phase.phase !== 'exited') return;
    record.endedAt = this.#scene.now();
    record.exitCode = phase.exitCode;
    const pod = this.#scene.truth.podOf(container);
    if (pod) checkEndInTime(pod, record, this.#scene);
  }
}
