import type { Container, Pod, Probe } from '../../api/generated/core-v1.ts';
import type { Log } from '../../base/log.ts';
import type { Random } from '../../host/random.ts';
import type { PodEvent, PodEvents } from '../events/pod-events.ts';
import { containerFieldPath } from '../pod/container-field-path.ts';
import type { EventReason } from '../pod/event-reason.ts';
import { currentSandbox, newestContainer, type ObservedContainer, type ObservedPod } from '../pod/observed-pod.ts';
import { isSidecar } from '../pod/restart-rules.ts';
import { checkProbe } from './check-probe.ts';
import { ContainerProbes, type ContainerProbesDeps, type ProbedContainer } from './container-probes.ts';
import { probeChannel } from './probe-channel.ts';
import type { CheckDeps, CheckOutcome } from './probe-handler.ts';
import type { ProbeKind, ProbeResult, ProbeResults } from './probe-results.ts';
import { probeSpec } from './probe-state.ts';

/** Attempts of a check that fails itself. */
const ATTEMPTS = 3;

/** A container that started this long before the agent was started by a previous process. */
const RESTART_GRACE_MS = 10_000;

export interface ProbesDeps extends CheckDeps {
  readonly random: Random;
  readonly events: PodEvents;
  readonly log: Log;
  /** Address of pods on the host network. */
  readonly hostIP: string;
  /** A probe result of the pod has changed. Called synchronously; it must not throw. */
  onResultChanged(uid: string): void;
}

/** A pod whose containers are probed. */
interface FollowedPod {
  pod: Pod;
  podIP: string;
  isTerminating: boolean;
  /** By name. */
  readonly containers: Map<string, ContainerProbes>;
}

/**
 * Probes the containers of all pods.
 * 1. `follow` decides what is probed: the newest container of each name, while it runs.
 * 2. The first check comes as soon as the start of the container is observed and its initial delay is over.
 * 3. Every check ends at its time limit; every loop ends with its container, its pod or the agent.
 */
export class Probes implements ProbeResults {
  readonly #deps: ProbesDeps;
  readonly #startedMs: number;
  readonly #startedMonotonic: number;
  readonly #pods = new Map<string, FollowedPod>();
  readonly #byContainerId = new Map<string, ContainerProbes>();
  readonly #loops = new Set<Promise<void>>();

  constructor(deps: ProbesDeps) {
    this.#deps = deps;
    this.#startedMs = deps.clock.now();
    this.#startedMonotonic = deps.clock.monotonic();
  }

  result(kind: ProbeKind, containerId: string): ProbeResult | undefined {
    return this.#byContainerId.get(containerId)?.result(kind);
  }

  /** Starts missing probes, and stops those of containers that have ended or were replaced. */
  follow(pod: Pod, observed: ObservedPod | undefined): void {
    const followed = this.#followed(pod);
    followed.podIP = pod.spec.hostNetwork ? this.#deps.hostIP : (currentSandbox(observed)?.ips[0] ?? followed.podIP);
    for (const container of probedContainers(pod)) {
      this.#followContainer(followed, container, newestContainer(observed, container.name));
    }
  }

  /** Stops liveness and startup probes; readiness is checked until the container has ended. */
  onTerminating(pod: Pod): void {
    const followed = this.#followed(pod);
    followed.isTerminating = true;
    for (const probes of followed.containers.values()) stopLivenessAndStartup(probes);
  }

  forget(uid: string): void {
    const followed = this.#pods.get(uid);
    if (!followed) return;
    for (const probes of followed.containers.values()) this.#drop(probes);
    this.#pods.delete(uid);
    const { namespace, name } = followed.pod.metadata;
    probeChannel.publish({ kind: 'forgotten', of: { namespace, pod: name, uid } });
  }

  /** Ends every loop; resolves when none is left. */
  async stop(): Promise<void> {
    for (const uid of [...this.#pods.keys()]) this.forget(uid);
    await Promise.all(this.#loops);
  }

  #followed(pod: Pod): FollowedPod {
    const { uid } = pod.metadata;
    const followed = this.#pods.get(uid) ?? { pod, podIP: '', isTerminating: false, containers: new Map() };
    followed.pod = pod;
    this.#pods.set(uid, followed);
    return followed;
  }

  #followContainer(followed: FollowedPod, container: Container, newest: ObservedContainer | undefined): void {
    const current = followed.containers.get(container.name);
    if (current !== undefined && current.subject.id === newest?.id) {
      if (newest.state === 'exited') current.onExited();
      return;
    }
    if (current !== undefined) this.#drop(current);
    followed.containers.delete(container.name);
    if (newest?.state !== 'running') return;
    const subject = this.#subject(followed.pod, container, newest.id, Number(newest.startedAt / 1_000_000n));
    const probes = new ContainerProbes(subject, this.#depsFor(followed, subject));
    followed.containers.set(container.name, probes);
    this.#byContainerId.set(newest.id, probes);
    if (followed.isTerminating) stopLivenessAndStartup(probes);
    probes.start();
  }

  #drop(probes: ContainerProbes): void {
    probes.end();
    this.#byContainerId.delete(probes.subject.id);
  }

  #subject(pod: Pod, container: Container, id: string, startedMs: number): ProbedContainer {
    const ranBefore = startedMs < this.#startedMs - RESTART_GRACE_MS;
    return { container, id, startedMs, ranBefore, hadStarted: ranBefore && isKnownToHaveStarted(pod, id) };
  }

  #depsFor(followed: FollowedPod, subject: ProbedContainer): ContainerProbesDeps {
    const { clock, random, onResultChanged: changed } = this.#deps;
    const startedBefore = subject.startedMs < this.#startedMs;
    return {
      clock,
      jitterMs: (periodMs) => {
        const isRecent = clock.monotonic() - this.#startedMonotonic < periodMs;
        return startedBefore && isRecent ? random.fraction() * periodMs : 0;
      },
      check: async (kind, probe, isEarly, signal) => {
        const outcome = await this.#check(followed, subject, kind, probe, signal);
        if (!isEarly) this.#recordEvent(followed.pod, subject.container.name, kind, outcome);
        return outcome;
      },
      onResultChanged: () => changed(followed.pod.metadata.uid),
      track: (loop, signal) => this.#track(loop, signal),
    };
  }

  async #check(
    followed: FollowedPod,
    { container, id }: ProbedContainer,
    kind: ProbeKind,
    probe: Probe,
    signal: AbortSignal,
  ): Promise<CheckOutcome> {
    const { timeoutMs } = probeSpec(kind, probe);
    const { clock } = this.#deps;
    const beganMs = clock.monotonic();
    for (let attempt = 1; ; attempt++) {
      const target = { container, containerId: id, podIP: followed.podIP };
      const outcome = await checkProbe(probe, target, timeoutMs, this.#deps, signal);
      signal.throwIfAborted();
      if (outcome.kind === 'error' && attempt < ATTEMPTS) continue;
      const { namespace, name, uid } = followed.pod.metadata;
      const of = { namespace, pod: name, uid, container: container.name };
      const tookMs = clock.monotonic() - beganMs;
      probeChannel.publish({ kind: 'checked', of, probe: kind, result: probeResult(outcome), tookMs });
      return outcome;
    }
  }

  #recordEvent(pod: Pod, name: string, kind: ProbeKind, outcome: CheckOutcome): void {
    const event = probeEvent(kind, outcome);
    if (!event) return;
    const { reason, message, cause } = event;
    this.#deps.events.record(pod, 'Warning', reason, message, containerFieldPath(pod, name), cause);
  }

  #track(loop: Promise<void>, signal: AbortSignal): void {
    const owned = loop
      .catch((error: unknown) => {
        if (!signal.aborted) this.#deps.log.error('probe loop failed', { error });
      })
      .finally(() => this.#loops.delete(owned));
    this.#loops.add(owned);
  }
}

function stopLivenessAndStartup(probes: ContainerProbes): void {
  probes.stop('liveness');
  probes.stop('startup');
}

/** Init containers other than sidecars are not probed. */
function probedContainers({ spec }: Pod): Container[] {
  return [...(spec.initContainers ?? []).filter(isSidecar), ...spec.containers];
}

function isKnownToHaveStarted({ status }: Pod, id: string): boolean {
  const statuses = [...(status?.containerStatuses ?? []), ...(status?.initContainerStatuses ?? [])];
  return statuses.some(({ containerID, started }) => containerID?.endsWith(`://${id}`) && started);
}

const KIND_TEXTS: Readonly<Record<ProbeKind, string>> = {
  startup: 'Startup',
  readiness: 'Readiness',
  liveness: 'Liveness',
};

function probeResult(outcome: CheckOutcome): 'successful' | 'failed' | 'unknown' {
  switch (outcome.kind) {
    case 'success':
    case 'warning':
      return 'successful';
    case 'failure':
      return 'failed';
    case 'error':
      return outcome.state === 'failure' ? 'failed' : 'unknown';
  }
}

interface ProbeEvent extends Pick<PodEvent, 'message' | 'cause'> {
  readonly reason: EventReason;
}

function probeEvent(kind: ProbeKind, outcome: CheckOutcome): ProbeEvent | undefined {
  const probe = `${KIND_TEXTS[kind]} probe`;
  const cause = { kind: 'probeFailed', probe: kind, output: outcome.output } as const;
  switch (outcome.kind) {
    case 'success':
      return undefined;
    case 'warning':
      return { reason: 'ProbeWarning', message: `${probe} warning: ${outcome.output}` };
    case 'failure':
      return { reason: 'Unhealthy', message: `${probe} failed: ${outcome.output}`, cause };
    case 'error':
      return {
        reason: 'Unhealthy',
        message: `${probe} errored and resulted in ${outcome.state} state: ${outcome.output}`,
        cause,
      };
  }
}
