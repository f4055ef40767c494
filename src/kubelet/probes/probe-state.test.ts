import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ProbeKind } from './probe-results.ts';
import {
  firstCheckDelay,
  INITIAL_RESULTS,
  initialState,
  nextProbeState,
  type ProbeOutcome,
  type ProbeSpec,
  probeSpec,
} from './probe-state.ts';

/** What others see after each of the checks: S(uccess), F(ailure), U(nknown); a bar where the probe goes on hold. */
function seen(kind: ProbeKind, changes: Partial<ProbeSpec>, checks: string): string {
  const spec = { ...probeSpec(kind, { successThreshold: 1, failureThreshold: 3 }), ...changes };
  let state = initialState(INITIAL_RESULTS[kind]);
  let text = '';
  for (const check of checks) {
    const outcome: ProbeOutcome = check === 'S' ? 'success' : 'failure';
    const before = state.phase;
    state = nextProbeState(state, outcome, spec);
    text += (state.result ?? '-').charAt(0).toUpperCase();
    if (before !== state.phase) text += '|';
  }
  return text;
}

const cases: Record<string, { kind: ProbeKind; spec?: Partial<ProbeSpec>; checks: string; results: string }> = {
  'readiness: one success is enough': { kind: 'readiness', checks: 'SSS', results: 'SSS' },
  'readiness: starts as a failure': { kind: 'readiness', checks: 'FFFS', results: 'FFFS' },
  'readiness: fails with the third failure in a row': { kind: 'readiness', checks: 'SFFFS', results: 'SSSFS' },
  'readiness: a success ends a row of failures': { kind: 'readiness', checks: 'SFFSFFF', results: 'SSSSSSF' },
  'readiness: as many successes as the threshold': {
    kind: 'readiness',
    spec: { successThreshold: 2, failureThreshold: 1 },
    checks: 'SSFSS',
    results: 'FSFFS',
  },
  'liveness: starts as a success': { kind: 'liveness', checks: 'FF', results: 'SS' },
  'liveness: holds with the third failure in a row': { kind: 'liveness', checks: 'SFFSFFFS', results: 'SSSSSSF|F' },
  'startup: is unknown before it is decided': { kind: 'startup', checks: 'FF', results: 'UU' },
  'startup: holds with the first success': { kind: 'startup', checks: 'FSF', results: 'US|S' },
  'startup: holds with the last failure': { kind: 'startup', checks: 'FFFS', results: 'UUF|F' },
};

for (const [name, { kind, spec = {}, checks, results }] of Object.entries(cases)) {
  test(`nextProbeState() ${name}`, () => {
    assert.equal(seen(kind, spec, checks), results);
  });
}

test('nextProbeState() keeps an unknown result until a threshold is reached', () => {
  const spec = probeSpec('readiness', {});
  const failed = nextProbeState(initialState(undefined), 'failure', spec);
  assert.deepEqual(failed, { phase: 'probing', result: undefined, streak: { outcome: 'failure', length: 1 } });
});

test('probeSpec() puts the defaults of the API in place', () => {
  assert.deepEqual(probeSpec('liveness', {}), {
    kind: 'liveness',
    initialDelayMs: 0,
    periodMs: 10_000,
    timeoutMs: 1000,
    successThreshold: 1,
    failureThreshold: 3,
  });
});

test('delayOf() counts from the start of the container, and a clock that was set back costs no more', () => {
  const spec = probeSpec('liveness', { initialDelaySeconds: 5 });
  const delays = [0, 2000, 9000, -60_000].map((ranMs) => firstCheckDelay(spec, ranMs));
  assert.deepEqual(delays, [5000, 3000, 0, 5000]);
});
