import type { Container, Probe } from '../../api/generated/core-v1.ts';
import { assertNever } from '../../base/assert-never.ts';
import type { ProbeKind, ProbeResult } from './probe-results.ts';

/** A probe with every default in place; times in milliseconds. */
export interface ProbeSpec {
  readonly kind: ProbeKind;
  readonly initialDelayMs: number;
  readonly periodMs: number;
  readonly timeoutMs: number;
  readonly successThreshold: number;
  readonly failureThreshold: number;
}

/**
 * Where one probe of one container stands. A container that starts anew gets a new state.
 *
 *     probing ──► probing    as long as there is something to learn
 *        │
 *        └──────► onHold     liveness failed, or startup is decided: nothing more until the container restarts
 *
 * `result` is what others see. It is `undefined` only for a container that ran before the agent did: what was known of
 * it then holds until the probe says otherwise.
 */
export type ProbeState =
  | {
      readonly phase: 'probing';
      readonly result: ProbeResult | undefined;
      /** The last checks in a row that came to the same. */
      readonly streak: { readonly outcome: ProbeOutcome; readonly length: number } | undefined;
    }
  | { readonly phase: 'onHold'; readonly result: ProbeResult };

/** What a check can come to. One that went wrong by itself is no outcome: it is thrown away. */
export type ProbeOutcome = 'success' | 'failure';

/** Not ready, alive, and not known to have started, until a check says otherwise. */
export const INITIAL_RESULTS: Readonly<Record<ProbeKind, ProbeResult>> = {
  readiness: 'failure',
  liveness: 'success',
  startup: 'unknown',
};

export function initialState(result: ProbeResult | undefined): ProbeState {
  return { phase: 'probing', result, streak: undefined };
}

/** The result changes once as many checks in a row as the threshold says came to the same. */
export function nextProbeState(state: ProbeState, outcome: ProbeOutcome, spec: ProbeSpec): ProbeState {
  if (state.phase === 'onHold') return state;
  const length = state.streak?.outcome === outcome ? state.streak.length + 1 : 1;
  const threshold = outcome === 'success' ? spec.successThreshold : spec.failureThreshold;
  if (length < threshold) return { ...state, streak: { outcome, length } };
  const isDecided = spec.kind === 'startup' || (spec.kind === 'liveness' && outcome === 'failure');
  return isDecided
    ? { phase: 'onHold', result: outcome }
    : { phase: 'probing', result: outcome, streak: { outcome, length } };
}

/** Milliseconds until the first check of a container that has run for `ranMs`. */
export function firstCheckDelay(spec: ProbeSpec, ranMs: number): number {
  return Math.min(spec.initialDelayMs, Math.max(0, spec.initialDelayMs - ranMs)); // a clock that was set back costs no more
}

/**
 * When to look again at a container that is not ready yet, in milliseconds after its first check: soon at first, then
 * less and less often, until the probe's own period takes over. Kubernetes documents that readiness may be checked
 * outside of its period while a container is not ready, so that it gets ready sooner.
 */
export function earlyCheckMs(state: ProbeState, spec: ProbeSpec, passedMs: number): number | undefined {
  if (spec.kind !== 'readiness' || state.result !== 'failure') return undefined;
  let at = FIRST_EARLY_CHECK_MS;
  while (at <= passedMs) at = 2 * at + FIRST_EARLY_CHECK_MS;
  return at < spec.periodMs ? at : undefined;
}

const FIRST_EARLY_CHECK_MS = 100;

export function containerProbe(container: Container, kind: ProbeKind): Probe | undefined {
  switch (kind) {
    case 'startup':
      return container.startupProbe;
    case 'readiness':
      return container.readinessProbe;
    case 'liveness':
      return container.livenessProbe;
    default:
      return assertNever(kind);
  }
}

export function probeSpec(kind: ProbeKind, probe: Probe): ProbeSpec {
  return {
    kind,
    initialDelayMs: 1000 * (probe.initialDelaySeconds ?? 0),
    periodMs: 1000 * (probe.periodSeconds ?? 10),
    timeoutMs: 1000 * (probe.timeoutSeconds ?? 1),
    successThreshold: probe.successThreshold ?? 1,
    failureThreshold: probe.failureThreshold ?? 3,
  };
}
