import type { Pod, PodCertificateRequest } from '../../api/generated/core-v1.ts';
import { abortable } from '../../base/abortable.ts';
import { ChangeSignal } from '../../base/change-signal.ts';
import { errorText } from '../../base/error-text.ts';
import { ExponentialBackoff } from '../../base/exponential-backoff.ts';
import type { Log } from '../../base/log.ts';
import type { Clock } from '../../host/clock.ts';
import type { Random } from '../../host/random.ts';
import type { PodEvents } from '../events/pod-events.ts';
import type { EventReason } from '../pod/event-reason.ts';
import {
  type CertificateState,
  type CertificateWarning,
  certificateStep,
  dueWarnings,
  pendingRequest,
  withRequest,
} from './certificate-state.ts';
import { type CreateRequestDeps, createPodCertificateRequest } from './create-request.ts';
import { type CertificateSource, PodCertificateError, type PodCredentials } from './pod-certificates.ts';

/** How long a starting pod waits for a certificate before it reports that it has none. */
const FIRST_CERTIFICATE_MS = 1_000;
/** The longest time without a look at the clock, which may jump; as kubelet's refresh pass. */
const REFRESH_PASS_MS = 60_000;
/** As kubelet's work queue, whose refresh pass ends longer delays. */
const RETRY = { firstMs: 5, maxMs: REFRESH_PASS_MS, jitter: 0 };

const WARNINGS: Readonly<Record<CertificateWarning, readonly [reason: EventReason, message: string]>> = {
  overdue: ['CertificateOverdueForRefresh', 'PodCertificate refresh overdue'],
  expired: ['CertificateExpired', 'PodCertificate expired'],
};

const REQUEST_ENDS = { denied: ['Denied', 'was denied'], failed: ['Failed', 'failed'] } as const;

export interface ManagedCertificateDeps extends CreateRequestDeps {
  /** The request as last observed. */
  readonly find: (namespace: string, name: string) => PodCertificateRequest | undefined;
  readonly events: PodEvents;
  /** Called when the credentials of the pod have changed. */
  readonly onChange: (uid: string) => void;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
}

/** The certificate of one source of a pod, from its first request on. */
export class ManagedCertificate {
  readonly source: CertificateSource;
  readonly #deps: ManagedCertificateDeps;
  readonly #changes = new ChangeSignal();
  readonly #settled = Promise.withResolvers<void>();
  readonly #patience: AbortSignal;
  readonly #backoff = new ExponentialBackoff(RETRY);
  #pod: Pod;
  #state: CertificateState = { kind: 'initial' };
  /** Why the last request could not be created. */
  #error: string | undefined;

  constructor(pod: Pod, source: CertificateSource, deps: ManagedCertificateDeps) {
    this.#pod = pod;
    this.source = source;
    this.#deps = deps;
    this.#patience = deps.clock.deadline(FIRST_CERTIFICATE_MS);
  }

  get state(): CertificateState {
    return this.#state;
  }

  /** The version of the pod that events are recorded for. */
  setPod(pod: Pod): void {
    this.#pod = pod;
  }

  /** A request of the pod may have changed. */
  wake(): void {
    this.#changes.notify();
  }

  /** Waits a moment for the first certificate. Rejects with a `PodCertificateError`. */
  async credentials(signal: AbortSignal): Promise<PodCredentials> {
    const patience = AbortSignal.any([signal, this.#patience]);
    await abortable(this.#settled.promise, patience).catch(() => signal.throwIfAborted());
    const state = this.#state;
    if ('held' in state) return { key: state.held.key, chain: state.held.chain };
    throw this.#unavailable(state);
  }

  /** Requests and renews the certificate until the signal aborts. Never rejects. */
  async run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      const waitMs = await this.#advance(signal).catch((error: unknown) => this.#retryDelay(error, signal));
      const limit = AbortSignal.any([signal, this.#deps.clock.deadline(Math.min(waitMs, REFRESH_PASS_MS))]);
      await this.#changes.next(limit);
    }
  }

  /** Takes all steps that are due, and returns the time until the next one. */
  async #advance(signal: AbortSignal): Promise<number> {
    const { clock, random, find } = this.#deps;
    for (;;) {
      this.#recordWarnings();
      const name = 'request' in this.#state ? this.#state.request.name : undefined;
      const request = name === undefined ? undefined : find(this.#pod.metadata.namespace, name);
      const nowMs = clock.now();
      const step = certificateStep(this.#state, { request, nowMs, fraction: random.fraction() });
      if (step.kind === 'sleep') return step.untilMs - nowMs;
      if (step.kind === 'become') this.#become(step.state, name);
      else await this.#createRequest(signal);
    }
  }

  async #createRequest(signal: AbortSignal): Promise<void> {
    const { clock, random } = this.#deps;
    const { request, key } = await createPodCertificateRequest(this.#pod, this.source.projection, this.#deps, signal);
    const pending = pendingRequest(request, key, { nowMs: clock.now(), fraction: random.fraction() });
    this.#error = undefined;
    this.#backoff.reset();
    this.#become(withRequest(this.#state, pending), undefined);
  }

  #become(state: CertificateState, requestName: string | undefined): void {
    const { log, events, onChange } = this.#deps;
    const { namespace, name, uid } = this.#pod.metadata;
    const before = this.#state;
    this.#state = state;
    const { volume } = this.source;
    log.debug('pod certificate', { pod: `${namespace}/${name}`, volume, from: before.kind, to: state.kind });
    if (state.kind === 'refused') {
      const [reason, what] = REQUEST_ENDS[state.outcome];
      const details = `reason=${JSON.stringify(state.reason)}, message=${JSON.stringify(state.message)}`;
      const message = `PodCertificateRequest ${namespace}/${requestName} ${what}, ${details}`;
      events.record(this.#pod, 'Warning', reason, message);
    }
    if (state.kind !== 'refused' && heldKey(state) === heldKey(before)) return;
    this.#settled.resolve();
    onChange(uid);
  }

  #recordWarnings(): void {
    const state = this.#state;
    if (!('held' in state)) return;
    const due = dueWarnings(state.held, this.#deps.clock.now());
    // kubelet looks at the times only when a renewal is due or under way.
    if (due.length === 0 || (state.kind === 'fresh' && this.#deps.clock.now() < state.held.beginRefreshAtMs)) return;
    for (const each of due) this.#deps.events.record(this.#pod, 'Warning', ...WARNINGS[each]);
    this.#state = { ...state, held: { ...state.held, warned: [...state.held.warned, ...due] } };
  }

  #retryDelay(error: unknown, signal: AbortSignal): number {
    if (signal.aborted) return 0;
    const { namespace, name } = this.#pod.metadata;
    const { volume, index: sourceIndex } = this.source;
    this.#error = errorText(error);
    this.#deps.log.warn('cannot request pod certificate', {
      pod: `${namespace}/${name}`,
      volume,
      sourceIndex,
      error,
    });
    return this.#backoff.next(0);
  }

  #unavailable(state: Exclude<CertificateState, { held: unknown }>): PodCertificateError {
    const { signerName: signer } = this.source.projection;
    if (state.kind === 'refused') {
      const { outcome, reason, message } = state;
      const details = `reason=${JSON.stringify(reason)} message=${JSON.stringify(message)}`;
      return new PodCertificateError(`PodCertificateRequest was permanently ${outcome}: ${details}`, {
        kind: 'podCertificateRefused',
        signer,
        outcome,
        reason,
        message,
      });
    }
    const request = state.kind === 'wait' ? `${this.#pod.metadata.namespace}/${state.request.name}` : undefined;
    const cause = { kind: 'podCertificateNotIssued', signer, request, error: this.#error } as const;
    return new PodCertificateError('credential bundle is not issued yet', cause);
  }
}

function heldKey(state: CertificateState): string | undefined {
  return 'held' in state ? state.held.key : undefined;
}
