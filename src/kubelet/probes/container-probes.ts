import type { Container, Probe } from '../../api/generated/core-v1.ts';
import type { Clock } from '../../host/clock.ts';
import type { CheckOutcome } from './probe-handler.ts';
import { runProbeLoop } from './probe-loop.ts';
import type { ProbeKind, ProbeResult } from './probe-results.ts';
import { firstCheckDelay, initialState, INITIAL_RESULTS, type ProbeState, containerProbe, probeSpec } from './probe-state.ts';

/** A container that runs, as far as its probes have to know it. */
export interface ProbedContainer {
  readonly container: Container;
  readonly id: string;
  /** Wall-clock milliseconds. */
  readonly startedMs: number;
  /** It ran before the agent did: what was known of it then holds until a probe says otherwise. */
  readonly ranBefore: boolean;
  /** It is known from before to have started: its startup probe has nothing to find out. */
  readonly hadStarted: boolean;
}

/** What the probes of a container are given. */
export interface ContainerProbesDeps {
  readonly clock: Clock;
  /** A delay for a probe that would otherwise check together with every other of the node. */
  jitterMs(periodMs: number): number;
  /** One round of a probe, told to the user unless it is an early one. Rejects only with the signal's reason. */
  check(kind: ProbeKind, probe: Probe, isEarly: boolean, signal: AbortSignal): Promise<CheckOutcome>;
  /** A result that others see has changed. */
  onResultChanged(): void;
  /** Takes over a loop that ends soon after its signal has aborted. */
  track(loop: Promise<void>, signal: AbortSignal): void;
}

const KINDS: readonly ProbeKind[] = ['startup', 'readiness', 'liveness'];

/**
 * The probes of one container, from its start to its end; a container that starts anew gets new ones.
 * 1. Nothing but the startup probe checks before that has succeeded; then the others check at once.
 * 2. A probe has at most one check under way.
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
    if (container.startupProbe === undefined) this.#beginOthers();
    else if (hadStarted) this.#decideStartup();
    else this.#begin('startup');
  }

  /** Stops one probe for good, also before it began; its last result stays. */
  stop(kind: ProbeKind): void {
    this.#wanted.delete(kind);
    this.#loops.get(kind)?.abort();
    this.#loops.delete(kind);
  }

  /** The container has ended: nothing checks any more, and it is not ready. */
  onExited(): void {
    this.end();
    if (this.subject.container.readinessProbe) this.#results.set('readiness', 'failure');
  }

  end(): void {
    for (const kind of KINDS) this.stop(kind);
  }

  #decideStartup(): void {
    this.#results.set('startup', 'success');
    this.#beginOthers();
  }

  #beginOthers(): void {
    this.#begin('readiness');
    this.#begin('liveness');
  }

  #begin(kind: ProbeKind): void {
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
      moved: (state: ProbeState) => this.#moved(kind, state),
    };
    own(runProbeLoop(loop, clock, controller.signal), controller.signal);
  }

  #moved(kind: ProbeKind, { result }: ProbeState): void {
    if (result === undefined || result === this.#results.get(kind)) return;
    this.#results.set(kind, result);
    if (kind === 'startup' && result === 'success') this.#beginOthers();
    this.#deps.onResultChanged();
  }
}
