import type { Condition, PodCertificateRequest } from '../../api/generated/core-v1.ts';
import { pemBlocks, pemText } from '../../base/pem.ts';
import { parseTime } from '../../base/rfc3339.ts';
import type { PodCredentials } from './pod-certificates.ts';

const MINUTE_MS = 60_000;
/** After this time, plus jitter, a request that is not there counts as deleted. Before, the watch may lag behind. */
const ASSUME_DELETED_MS = 10 * MINUTE_MS;
/** A certificate that was due for renewal this long ago is overdue. */
const OVERDUE_MS = 10 * MINUTE_MS;
/** Spreads the requests of pods that started together. */
const MAX_JITTER_MS = 5 * MINUTE_MS;

/** A PodCertificateRequest of the agent. */
export interface PendingRequest {
  readonly name: string;
  /** In PEM. */
  readonly key: string;
  /** From then on the request counts as deleted if it is not there. */
  readonly abandonAtMs: number;
}

export interface HeldCertificate extends PodCredentials {
  readonly beginRefreshAtMs: number;
  readonly notAfterMs: number;
  /** The warnings that were recorded. */
  readonly warned: readonly CertificateWarning[];
}

export type CertificateWarning = 'overdue' | 'expired';

/** The certificate of one source, as kubelet's state machine. */
export type CertificateState =
  | { readonly kind: 'initial' }
  | { readonly kind: 'wait'; readonly request: PendingRequest }
  /** Permanent. */
  | {
      readonly kind: 'refused';
      readonly outcome: 'denied' | 'failed';
      readonly reason: string;
      readonly message: string;
    }
  | { readonly kind: 'fresh'; readonly held: HeldCertificate }
  | { readonly kind: 'waitRefresh'; readonly held: HeldCertificate; readonly request: PendingRequest };

export type CertificateStep =
  | { readonly kind: 'createRequest' }
  | { readonly kind: 'become'; readonly state: CertificateState }
  /** Nothing to do until the request changes, or until that time. */
  | { readonly kind: 'sleep'; readonly untilMs: number };

export interface StepInput {
  /** The request of the state as last observed. */
  readonly request: PodCertificateRequest | undefined;
  readonly nowMs: number;
  /** Random, in [0, 1). */
  readonly fraction: number;
}

/** Returns what to do next for a certificate. */
export function certificateStep(state: CertificateState, input: StepInput): CertificateStep {
  switch (state.kind) {
    case 'initial':
      return { kind: 'createRequest' };
    case 'refused':
      return { kind: 'sleep', untilMs: Number.POSITIVE_INFINITY };
    case 'fresh':
      if (input.nowMs >= state.held.beginRefreshAtMs) return { kind: 'createRequest' };
      return { kind: 'sleep', untilMs: state.held.beginRefreshAtMs };
    case 'wait':
      return stepOfRequest(state.request, { kind: 'initial' }, Number.POSITIVE_INFINITY, input);
    case 'waitRefresh': {
      const { held, request } = state;
      return stepOfRequest(request, { kind: 'fresh', held }, nextWarningMs(held), input);
    }
  }
}

/** The state after a request was created. */
export function withRequest(state: CertificateState, request: PendingRequest): CertificateState {
  return 'held' in state ? { kind: 'waitRefresh', held: state.held, request } : { kind: 'wait', request };
}

/** A request that was just created. */
export function pendingRequest(
  { metadata: { name, creationTimestamp } }: PodCertificateRequest,
  key: string,
  { nowMs, fraction }: Omit<StepInput, 'request'>,
): PendingRequest {
  const createdMs = creationTimestamp === undefined ? nowMs : parseTime(creationTimestamp);
  return { name, key, abandonAtMs: createdMs + ASSUME_DELETED_MS + jitterMs(fraction) };
}

function stepOfRequest(
  pending: PendingRequest,
  abandoned: CertificateState,
  otherwiseMs: number,
  { request, nowMs, fraction }: StepInput,
): CertificateStep {
  if (request === undefined) {
    if (nowMs > pending.abandonAtMs) return { kind: 'become', state: abandoned };
    return { kind: 'sleep', untilMs: Math.min(otherwiseMs, pending.abandonAtMs + 1) };
  }
  for (const condition of request.status?.conditions ?? []) {
    const state = stateOfCondition(condition, request, pending, fraction);
    if (state) return { kind: 'become', state };
  }
  return { kind: 'sleep', untilMs: otherwiseMs };
}

function stateOfCondition(
  { type, reason, message }: Condition,
  { status = {} }: PodCertificateRequest,
  { key }: PendingRequest,
  fraction: number,
): CertificateState | undefined {
  switch (type) {
    case 'Denied':
      return { kind: 'refused', outcome: 'denied', reason, message };
    case 'Failed':
      return { kind: 'refused', outcome: 'failed', reason, message };
    case 'Issued': {
      const { certificateChain = '', beginRefreshAt = '', notAfter = '' } = status;
      const held: HeldCertificate = {
        key,
        chain: cleanChain(certificateChain),
        beginRefreshAtMs: parseTime(beginRefreshAt) + jitterMs(fraction),
        notAfterMs: parseTime(notAfter),
        warned: [],
      };
      return { kind: 'fresh', held };
    }
    default:
      return undefined;
  }
}

/** The warnings that are due for a certificate and were not recorded yet. */
export function dueWarnings(held: HeldCertificate, nowMs: number): readonly CertificateWarning[] {
  const due = { overdue: held.beginRefreshAtMs + OVERDUE_MS, expired: held.notAfterMs };
  return (['overdue', 'expired'] as const).filter((each) => nowMs > due[each] && !held.warned.includes(each));
}

function nextWarningMs({ warned, beginRefreshAtMs, notAfterMs }: HeldCertificate): number {
  const overdueMs = warned.includes('overdue') ? Number.POSITIVE_INFINITY : beginRefreshAtMs + OVERDUE_MS + 1;
  const expiredMs = warned.includes('expired') ? Number.POSITIVE_INFINITY : notAfterMs + 1;
  return Math.min(overdueMs, expiredMs);
}

/** kubelet's words for the state, in its metrics. */
export function metricsState(state: CertificateState, nowMs: number): string {
  switch (state.kind) {
    case 'initial':
    case 'wait':
      return 'not_yet_issued';
    case 'refused':
      return state.outcome;
    case 'fresh':
    case 'waitRefresh':
      if (nowMs > state.held.notAfterMs) return 'expired';
      return nowMs > state.held.beginRefreshAtMs + OVERDUE_MS ? 'overdue_for_refresh' : 'fresh';
  }
}

/** Certificates alone, without text between them and headers. */
function cleanChain(chain: string): string {
  return pemBlocks(chain)
    .map(({ der }) => pemText({ label: 'CERTIFICATE', der }))
    .join('');
}

function jitterMs(fraction: number): number {
  return Math.floor(fraction * MAX_JITTER_MS);
}
