import { isDeepStrictEqual } from 'node:util';
import { aborted } from '../../base/aborted.ts';
import { ExponentialBackoff } from '../../base/exponential-backoff.ts';
import type { Log } from '../../base/log.ts';
import { formatTime } from '../../base/rfc3339.ts';
import type { Clock } from '../../host/clock.ts';
import type { Random } from '../../host/random.ts';
import type { SigningKeys } from '../../host/signing-keys.ts';
import type { ApiServer } from '../api-client/api-server.ts';
import { awaitCertificate } from './await-certificate.ts';
import { certificateChannel } from './certificate-channel.ts';
import type { CertificateStore } from './certificate-store.ts';
import { type CertificateSubject, missingFrom } from './certificate-subject.ts';
import { CertificateError, type CertificateInfo, type HeldCertificate } from './held-certificate.ts';
import { Listeners } from './listeners.ts';
import { requestCertificate } from './request-certificate.ts';
import type { KeyPair, ServingCertificate } from './serving-certificate.ts';

/** client-go's back-off: five attempts within half a minute, then one every 32 seconds. */
const RETRY = { firstMs: 2_000, maxMs: 32_000, jitter: 0.1 };
/** How long to wait for a certificate before the request is repeated. */
const WAIT_MS = 15 * 60_000;
/** The minimum time between a certificate and the next request, however short its lifetime is. */
const SHORTEST_MS = 1_000;

/** The subject to request, which may change. */
export interface WantedSubject {
  /** `undefined` while it is not known. */
  current(): CertificateSubject | undefined;
  subscribe(listener: () => void): () => void;
}

export interface RotationSettings {
  readonly signerName: string;
  readonly usages: readonly string[];
}

export interface RotationDeps {
  readonly store: CertificateStore;
  readonly wanted: WantedSubject;
  /** The API server for a request, authenticated by the current certificate, or otherwise if there is no valid one. */
  readonly apiFor: (current: HeldCertificate | undefined) => ApiServer | Promise<ApiServer>;
  readonly keys: SigningKeys;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
}

/**
 * The time of the next request: after 70 to 90 % of the lifetime, so that the nodes of a cluster do not all renew
 * together.
 */
export function renewalMs({ validFromMs, validUntilMs }: CertificateInfo, fraction: number): number {
  return validFromMs + (validUntilMs - validFromMs) * (0.7 + 0.2 * fraction);
}

/**
 * Renews a certificate, with a new key, before it expires and when its subject changes.
 *
 * 1. The old certificate is used until the new one is on disk.
 * 2. A pending request is abandoned when the wanted subject changes.
 */
export class CertificateRotation implements ServingCertificate {
  readonly #settings: RotationSettings;
  readonly #deps: RotationDeps;
  readonly #listeners = new Listeners();
  #held: HeldCertificate | undefined;
  /** The current certificate is valid but must be replaced. */
  #mustReplace = false;
  /** The subject that the loop waits for or requests; `undefined` while it is not known. */
  #subject: CertificateSubject | undefined;
  /** Restarts the loop. */
  #interrupt = new AbortController();

  constructor(settings: RotationSettings, deps: RotationDeps) {
    this.#settings = settings;
    this.#deps = deps;
  }

  /**
   * Reads the stored certificate. If there is no valid one, `first` is stored and used, and replaced as soon as `run`
   * starts: kubeadm's initial certificate has more permissions than a kubelet should keep.
   */
  async load(first?: KeyPair): Promise<void> {
    const { store, clock, log } = this.#deps;
    const stored = await store.current().catch((error: unknown) => {
      if (!(error instanceof CertificateError)) throw error;
      log.warn('cannot use the stored certificate, requesting a new one', { error });
      return undefined;
    });
    if (stored && clock.now() < stored.validUntilMs) {
      this.#held = stored;
      this.#publish(stored, undefined);
      return;
    }
    if (!first) return;
    this.#held = await store.update(first.certificate, first.key);
    this.#publish(this.#held, undefined);
    this.#mustReplace = true;
  }

  /** `undefined` after its expiry. */
  current(): HeldCertificate | undefined {
    return this.#held && this.#deps.clock.now() <= this.#held.validUntilMs ? this.#held : undefined;
  }

  subscribe(listener: () => void): () => void {
    return this.#listeners.add(listener);
  }

  async run(signal: AbortSignal): Promise<void> {
    const unsubscribe = this.#deps.wanted.subscribe(() => this.#onSubjectChanged());
    try {
      while (!signal.aborted) {
        this.#interrupt = new AbortController();
        await this.#renew(AbortSignal.any([signal, this.#interrupt.signal]));
      }
    } finally {
      unsubscribe();
    }
  }

  /** Waits until the renewal is due and renews. Returns when interrupted. */
  async #renew(until: AbortSignal): Promise<void> {
    const { wanted, clock, random } = this.#deps;
    const subject = wanted.current();
    this.#subject = subject;
    if (!subject) return aborted(until);
    if (!(await this.#sleep(this.#dueMs(subject) - clock.now(), until))) return;
    const backoff = new ExponentialBackoff(RETRY);
    while (!until.aborted) {
      const isDone = await this.#attempt(subject, until);
      const waitMs = isDone ? SHORTEST_MS : backoff.next(random.fraction());
      if (!(await this.#sleep(waitMs, until)) || isDone) return;
    }
  }

  #dueMs(subject: CertificateSubject): number {
    if (!this.#held || this.#mustReplace || missingFrom(this.#held.subject, subject) !== undefined) {
      return Number.NEGATIVE_INFINITY;
    }
    return renewalMs(this.#held, this.#deps.random.fraction());
  }

  /** Returns whether a certificate with the wanted subject was issued. */
  async #attempt(subject: CertificateSubject, until: AbortSignal): Promise<boolean> {
    const { clock, log, store } = this.#deps;
    const { signerName } = this.#settings;
    try {
      const { certificate, key } = await this.#request(subject, AbortSignal.any([until, clock.deadline(WAIT_MS)]));
      const replaced = this.#held;
      this.#held = await store.update(certificate, key);
      this.#publish(this.#held, replaced);
    } catch (error) {
      if (until.aborted) return false;
      log.warn('cannot renew the certificate, retrying', { signerName, error });
      certificateChannel.publish({ kind: 'renewFailed', signerName });
      return false;
    }
    this.#mustReplace = false;
    log.info('got a new certificate', { signerName, validUntil: formatTime(this.#held.validUntilMs) });
    this.#listeners.notify();
    const missing = missingFrom(this.#held.subject, subject);
    if (missing !== undefined) log.warn('the new certificate lacks a requested name', { signerName, missing });
    return missing === undefined;
  }

  #publish({ validUntilMs }: HeldCertificate, replaced: HeldCertificate | undefined): void {
    const { signerName } = this.#settings;
    const replacedAgeMs = replaced && this.#deps.clock.now() - replaced.validFromMs;
    certificateChannel.publish({ kind: 'inUse', signerName, validUntilMs, replacedAgeMs });
  }

  async #request(subject: CertificateSubject, signal: AbortSignal): Promise<KeyPair> {
    const { apiFor, keys, clock } = this.#deps;
    const key = await keys.generate();
    const api = await apiFor(this.current());
    const request = await requestCertificate({ ...this.#settings, subject, key }, { api, nowMs: clock.now() }, signal);
    return { certificate: await awaitCertificate(request, { ...this.#deps, api }, signal), key: key.pem };
  }

  #onSubjectChanged(): void {
    const subject = this.#deps.wanted.current();
    if (subject && !isDeepStrictEqual(subject, this.#subject)) this.#interrupt.abort();
  }

  async #sleep(ms: number, until: AbortSignal): Promise<boolean> {
    if (ms > 0) await this.#deps.clock.sleep(ms, until).catch(() => undefined);
    return !until.aborted;
  }
}
