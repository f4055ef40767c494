import type { Container, Probe } from '../../api/generated/core-v1.ts';
import type { Clock } from '../../host/clock.ts';
import type { CheckOutcome } from './probe-handler.ts';
import { runProbeLoop } from './probe-loop.ts';
import type { ProbeKind, ProbeResult } from './probe-results.ts';
import {
  containerProbe,
  firstCheckDelay,
  INITIAL_RESULTS,
  initialState,
  type ProbeState,
  probeSpec,
} from './probe-state.ts';

/** A running container, as its probes see it. */
export interface ProbedContainer {
  readonly container: Container;
  readonly id: string;
  /** Wall-clock milliseconds. */
  readonly startedMs: number;
  /** It ran before the agent started: its published state holds until a probe has a result. */
  readonly ranBefore: boolean;
  /** Its published state is started: its startup probe does not run. */
  readonly hadStarted: boolean;
}

export interface ContainerProbesDeps {
  readonly clock: Clock;
  /** A random delay, so that not all probes of the node check at once. */
  jitterMs(periodMs: number): number;
  /** One check of a probe; records an event unless it is an early check. Rejects only with the signal's reason. */
  check(kind: ProbeKind, probe: Probe, isEarly: boolean, signal: AbortSignal): Promise<CheckOutcome>;
  /** A result has changed. */
  onResultChanged(): void;
  /** Tracks a loop until it ends, soon after its signal has aborted. */
  track(loop: Promise<void>, signal: AbortSignal): void;
}

const KINDS: readonly ProbeKind[] = ['startup', 'readiness', 'liveness'];

/**
 * The probes of one container, from its start to its end; a restarted container gets new ones.
 * 1. Only the startup probe checks until it has succeeded; then the others check immediately.
 * 2. A probe has at most one running check.
 */
export class ContainerProbes {
  readonly subject: ProbedContainer;
  readonly #deps: ContainerProbesDeps;
  readonly #results = new Map<ProbeKind, ProbeResult>();
  readonly #loops = new Map<ProbeKind, AbortController>();
  readonly #wanted = new Set<ProbeKind>(KINDS);

  constructor(subject: ProbedContainer, deps: ContainerProbesDeps) {
    this.subject = subject;
    this.#deps = deps;
  }

  result(kind: ProbeKind): ProbeResult | undefined {
    return this.#results.get(kind);
  }

  start(): void {
    const { container, ranBefore, hadStarted } = this.subject;
    for (const kind of KINDS) {
      if (containerProbe(container, kind) && !ranBefore) this.#results.set(kind, INITIAL_RESULTS[kind]);
    }
    if (container.startupProbe === undefined) this.#startOthers();
    else if (hadStarted) this.#skipStartup();
    else this.#start('startup');
  }

  /** Stops one probe for good, also before its start; its last result stays. */
  stop(kind: ProbeKind): void {
    this.#wanted.delete(kind);
    this.#loops.get(kind)?.abort();
    this.#loops.delete(kind);
  }

  /** The container has exited: its probes stop, and it is not ready. */
  onExited(): void {
    this.end();
    if (this.subject.container.readinessProbe) this.#results.set('readiness', 'failure');
  }

  end(): void {
    for (const kind of KINDS) this.stop(kind);
  }

  #skipStartup(): void {
    this.#results.set('startup', 'success');
    this.#startOthers();
  }

  #startOthers(): void {
    this.#start('readiness');
    this.#start('liveness');
  }

  #start(kind: ProbeKind): void {
    const { container, startedMs } = this.subject;
    const probe = containerProbe(container, kind);
    if (probe === undefined || !this.#wanted.has(kind)) return;
    const { clock, jitterMs, check, track: own } = this.#deps;
    const spec = probeSpec(kind, probe);
    const controller = new AbortController();
    this.#loops.set(kind, controller);
    const loop = {
      spec,
      first: initialState(this.#results.get(kind)),
      delayMs: Math.max(firstCheckDelay(spec, clock.now() - startedMs), jitterMs(spec.periodMs)),
      check: (isEarly: boolean, signal: AbortSignal) => check(kind, probe, isEarly, signal),
      onState: (state: ProbeState) => this.#onState(kind, state),
    };
    own(runProbeLoop(loop, clock, controller.signal), controller.signal);
  }

  #onState(kind: ProbeKind, { result }: ProbeState): void {
    if (result === undefined || result === this.#results.get(kind)) return;
    this.#results.set(kind, result);
    if (kind === 'startup' && result === 'success') this.#startOthers();
    this.#deps.onResultChanged();
  }
}
