import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { PodCertificateRequest, PodCertificateRequestStatus } from '../../api/generated/core-v1.ts';
import { pemText } from '../../base/pem.ts';
import { formatTime, parseTime } from '../../base/rfc3339.ts';
import {
  type CertificateState,
  type CertificateStep,
  type CertificateWarning,
  certificateStep,
  dueWarnings,
  type HeldCertificate,
  metricsState,
  pendingRequest,
  withRequest,
} from './certificate-state.ts';

const NOW = parseTime('2026-11-16T00:00:00Z');
const MINUTE = 60_000;
const CHAIN = pemText({ label: 'CERTIFICATE', der: Uint8Array.of(1) });
const pending = { name: 'req-a', key: 'KEY', abandonAtMs: NOW + MINUTE };
const held: HeldCertificate = {
  key: 'OLD KEY',
  chain: 'OLD',
  beginRefreshAtMs: NOW - MINUTE,
  notAfterMs: NOW + 60 * MINUTE,
  warned: [],
};
const wait: CertificateState = { kind: 'wait', request: pending };
const waitRefresh: CertificateState = { kind: 'waitRefresh', held, request: pending };
const isOver = { ...pending, abandonAtMs: NOW - 1 };

function request(type: string, status: PodCertificateRequestStatus = {}): PodCertificateRequest {
  const condition = { type, status: 'True', reason: 'Why', message: 'because', lastTransitionTime: formatTime(NOW) };
  return {
    metadata: { name: 'req-a', namespace: 'default' },
    spec: {
      signerName: 's',
      podName: 'web',
      podUID: 'u',
      nodeName: 'box',
      nodeUID: 'n',
      serviceAccountName: 'default',
      serviceAccountUID: 'a',
      stubPKCS10Request: '',
    },
    status: { ...status, conditions: type === '' ? [] : [condition] },
  };
}

const issued = request('Issued', {
  certificateChain: `leaf\n${CHAIN}`,
  beginRefreshAt: formatTime(NOW + 30 * MINUTE),
  notAfter: formatTime(NOW + 60 * MINUTE),
});
const fresh: CertificateState = {
  kind: 'fresh',
  held: {
    key: 'KEY',
    chain: CHAIN,
    beginRefreshAtMs: NOW + 32.5 * MINUTE, // half of the jitter
    notAfterMs: NOW + 60 * MINUTE,
    warned: [],
  },
};
const denied: CertificateState = { kind: 'refused', outcome: 'denied', reason: 'Why', message: 'because' };
const sleep = (untilMs: number): CertificateStep => ({ kind: 'sleep', untilMs });
const become = (state: CertificateState): CertificateStep => ({ kind: 'become', state });
const FOREVER = Number.POSITIVE_INFINITY;

interface Case {
  readonly state: CertificateState;
  readonly request?: PodCertificateRequest;
  readonly step: CertificateStep;
}

const cases: Readonly<Record<string, Case>> = {
  'a new source': { state: { kind: 'initial' }, step: { kind: 'createRequest' } },
  'a request that the watch has not shown yet': { state: wait, step: sleep(NOW + MINUTE + 1) },
  'a request that was deleted': { state: { kind: 'wait', request: isOver }, step: become({ kind: 'initial' }) },
  'a pending request': { state: wait, request: request(''), step: sleep(FOREVER) },
  'a pending request after a long time': {
    state: { kind: 'wait', request: isOver },
    request: request(''),
    step: sleep(FOREVER),
  },
  'an unknown condition': { state: wait, request: request('Approved'), step: sleep(FOREVER) },
  'a denied request': { state: wait, request: request('Denied'), step: become(denied) },
  'a failed request': { state: wait, request: request('Failed'), step: become({ ...denied, outcome: 'failed' }) },
  'an issued request': { state: wait, request: issued, step: become(fresh) },
  'a refused certificate': { state: denied, step: sleep(FOREVER) },
  'a fresh certificate': { state: fresh, step: sleep(NOW + 32.5 * MINUTE) },
  'a certificate that is due': { state: { kind: 'fresh', held }, step: { kind: 'createRequest' } },
  'a pending renewal': { state: waitRefresh, request: request(''), step: sleep(NOW + 9 * MINUTE + 1) },
  'a pending renewal, overdue': {
    state: { kind: 'waitRefresh', held: { ...held, warned: ['overdue'] }, request: pending },
    request: request(''),
    step: sleep(NOW + 60 * MINUTE + 1),
  },
  'a renewal that the watch has not shown yet': { state: waitRefresh, step: sleep(NOW + MINUTE + 1) },
  'a deleted renewal': {
    state: { kind: 'waitRefresh', held, request: isOver },
    step: become({ kind: 'fresh', held }),
  },
  'an issued renewal': { state: waitRefresh, request: issued, step: become(fresh) },
  'a denied renewal': { state: waitRefresh, request: request('Denied'), step: become(denied) },
};

for (const [name, { state, request: found, step }] of Object.entries(cases)) {
  test(`certificateStep() of ${name}`, () => {
    assert.deepEqual(certificateStep(state, { request: found, nowMs: NOW, fraction: 0.5 }), step);
  });
}

test('a request is abandoned ten to fifteen minutes after its creation', () => {
  const created = { ...issued, metadata: { name: 'req-b', creationTimestamp: formatTime(NOW) } };
  const abandonAt = (fraction: number) => pendingRequest(created, 'KEY', { nowMs: NOW + 5, fraction }).abandonAtMs;
  assert.deepEqual([abandonAt(0), abandonAt(0.5)], [NOW + 10 * MINUTE, NOW + 12.5 * MINUTE]);
});

test('a request keeps the certificate that it renews', () => {
  assert.deepEqual(withRequest({ kind: 'initial' }, pending), wait);
  assert.deepEqual(withRequest({ kind: 'fresh', held }, pending), waitRefresh);
});

const times: readonly {
  readonly afterRefreshMs: number;
  readonly warned?: readonly CertificateWarning[];
  readonly due: readonly CertificateWarning[];
  readonly state: string;
}[] = [
  { afterRefreshMs: 0, due: [], state: 'fresh' },
  { afterRefreshMs: 10 * MINUTE, due: [], state: 'fresh' },
  { afterRefreshMs: 10 * MINUTE + 1, due: ['overdue'], state: 'overdue_for_refresh' },
  { afterRefreshMs: 10 * MINUTE + 1, warned: ['overdue'], due: [], state: 'overdue_for_refresh' },
  { afterRefreshMs: 61 * MINUTE + 1, due: ['overdue', 'expired'], state: 'expired' },
];
for (const { afterRefreshMs, warned = [], due, state } of times) {
  test(`${afterRefreshMs} ms after the refresh time, warned of [${warned}], warnings [${due}] are due`, () => {
    const nowMs = held.beginRefreshAtMs + afterRefreshMs;
    assert.deepEqual(dueWarnings({ ...held, warned }, nowMs), due);
    assert.equal(metricsState(waitRefresh, nowMs), state);
  });
}

test('certificates without credentials are counted by what they wait for', () => {
  const states: readonly CertificateState[] = [{ kind: 'initial' }, wait, denied, { ...denied, outcome: 'failed' }];
  assert.deepEqual(
    states.map((each) => metricsState(each, NOW)),
    ['not_yet_issued', 'not_yet_issued', 'denied', 'failed'],
  );
});
