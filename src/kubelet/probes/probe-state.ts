import type { Container, Probe } from '../../api/generated/core-v1.ts';
import { assertNever } from '../../base/assert-never.ts';
import type { ProbeKind, ProbeResult } from './probe-results.ts';

/** A probe with its defaults; times in milliseconds. */
export interface ProbeSpec {
  readonly kind: ProbeKind;
  readonly initialDelayMs: number;
  readonly periodMs: number;
  readonly timeoutMs: number;
  readonly successThreshold: number;
  readonly failureThreshold: number;
}

/**
 * The state of one probe of one container. A restarted container gets a new state.
 *
 *     probing ──► probing    the result may still change
 *        │
 *        └──────► onHold     liveness failed, or startup is decided: no checks until the container restarts
 *
 * `result` is the published result. It is `undefined` only for a container that ran before the agent started: its
 * published state holds until the probe has a result.
 */
export type ProbeState =
  | {
      readonly phase: 'probing';
      readonly result: ProbeResult | undefined;
      /** The last consecutive checks with the same outcome. */
      readonly streak: { readonly outcome: ProbeOutcome; readonly length: number } | undefined;
    }
  | { readonly phase: 'onHold'; readonly result: ProbeResult };

/** Outcomes that count. A check that failed itself is ignored. */
export type ProbeOutcome = 'success' | 'failure';

/** Results before the first check: not ready, alive, and not known to have started. */
export const INITIAL_RESULTS: Readonly<Record<ProbeKind, ProbeResult>> = {
  readiness: 'failure',
  liveness: 'success',
  startup: 'unknown',
};

export function initialState(result: ProbeResult | undefined): ProbeState {
  return { phase: 'probing', result, streak: undefined };
}

/** The result changes when the number of consecutive equal outcomes reaches the threshold. */
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
  return Math.min(spec.initialDelayMs, Math.max(0, spec.initialDelayMs - ranMs)); // at most the initial delay, even if the clock was set back
}

/**
 * When to check a container that is not ready yet again, in milliseconds after its first check: soon at first, then at
 * growing intervals, until the probe's own period. Kubernetes documents that readiness may be checked outside of its
 * period while a container is not ready, so that it gets ready sooner.
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
