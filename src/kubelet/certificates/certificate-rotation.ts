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
import type { CertificateStore } from './certificate-store.ts';
import { type CertificateSubject, missingFrom } from './certificate-subject.ts';
import { CertificateError, type CertificateInfo, type HeldCertificate } from './held-certificate.ts';
import { Listeners } from './listeners.ts';
import { requestCertificate } from './request-certificate.ts';
import type { KeyPair, ServingCertificate } from './serving-certificate.ts';

/** client-go's: five tries within half a minute, then one every 32 seconds. */
const RETRY = { firstMs: 2_000, maxMs: 32_000, jitter: 0.1 };
/** How long a request may wait for its certificate before it is made anew. */
const WAIT_MS = 15 * 60_000;
/** Between a certificate and the request for the next, however short its life is. */
const SHORTEST_MS = 1_000;

/** Whom the certificate is to be about, which may change. */
export interface WantedSubject {
  /** Nothing as long as it is not known. */
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
  /** Whom to ask, with the certificate that we have, or in another way when there is none that is still good. */
  readonly apiFor: (current: HeldCertificate | undefined) => ApiServer | Promise<ApiServer>;
  readonly keys: SigningKeys;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
}

/** When to ask for the next one: after 70 to 90 % of its life, so that not all nodes of a cluster ask together. */
export function renewalMs({ validFromMs, validUntilMs }: CertificateInfo, fraction: number): number {
  return validFromMs + (validUntilMs - validFromMs) * (0.7 + 0.2 * fraction);
}

/**
 * Keeps a certificate good: asks for a new one, with a new key, in time before its end and when it is to say something
 * else.
 *
 * 1. The old one is held until the new one is on disk.
 * 2. A request is not waited for any longer when its certificate is to say something else by now.
 */
export class CertificateRotation implements ServingCertificate {
  readonly #settings: RotationSettings;
  readonly #deps: RotationDeps;
  readonly #listeners = new Listeners();
  #held: HeldCertificate | undefined;
  /** The one that we have is good, but not ours to stay with. */
  #mustReplace = false;
  /** For whom the loop waits or asks at the moment; nothing while it waits to learn that. */
  #subject: CertificateSubject | undefined;
  /** Sends the loop back to its start. */
  #interrupt = new AbortController();

  constructor(settings: RotationSettings, deps: RotationDeps) {
    this.#settings = settings;
    this.#deps = deps;
  }

  /**
   * Reads what is on disk. Where there is none that is still good, `first` is used and stored, and replaced by one of our
   * own as soon as we run: kubeadm gives kubelet a stronger certificate than it should keep.
   */
  async load(first?: KeyPair): Promise<void> {
    const { store, clock, log } = this.#deps;
    const stored = await store.current().catch((error: unknown) => {
      if (!(error instanceof CertificateError)) throw error;
      log.warn('cannot use the certificate on disk, asking for another', { error });
      return undefined;
    });
    if (stored && clock.now() < stored.validUntilMs) {
      this.#held = stored;
      return;
    }
    if (!first) return;
    this.#held = await store.update(first.certificate, first.key);
    this.#mustReplace = true;
  }

  /** Nothing when it has come to its end. */
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

  /** One wait and the new certificate after it; returns when interrupted. */
  async #renew(until: AbortSignal): Promise<void> {
    const { wanted, clock, random } = this.#deps;
    const subject = wanted.current();
    this.#subject = subject;
    if (!subject) return aborted(until);
    if (!(await this.#sleep(this.#dueMs(subject) - clock.now(), until))) return;
    const pause = new ExponentialBackoff(RETRY);
    while (!until.aborted) {
      const isDone = await this.#attempt(subject, until);
      const waitMs = isDone ? SHORTEST_MS : pause.next(random.fraction());
      if (!(await this.#sleep(waitMs, until)) || isDone) return;
    }
  }

  #dueMs(subject: CertificateSubject): number {
    if (!this.#held || this.#mustReplace || missingFrom(this.#held.subject, subject) !== undefined) {
      return Number.NEGATIVE_INFINITY;
    }
    return renewalMs(this.#held, this.#deps.random.fraction());
  }

  /** Whether what came says what was wanted. */
  async #attempt(subject: CertificateSubject, until: AbortSignal): Promise<boolean> {
    const { clock, log, store } = this.#deps;
    const { signerName } = this.#settings;
    try {
      const { certificate, key } = await this.#request(subject, AbortSignal.any([until, clock.deadline(WAIT_MS)]));
      this.#held = await store.update(certificate, key);
    } catch (error) {
      if (!until.aborted) log.warn('cannot get a new certificate, will try again', { signerName, error });
      return false;
    }
    this.#mustReplace = false;
    log.info('got a new certificate', { signerName, validUntil: formatTime(this.#held.validUntilMs) });
    this.#listeners.notify();
    const missing = missingFrom(this.#held.subject, subject);
    if (missing !== undefined) log.warn('the new certificate lacks what was asked for', { signerName, missing });
    return missing === undefined;
  }

  async #request(subject: CertificateSubject, signal: AbortSignal): Promise<KeyPair> {
    const { apiFor: apiOf, keys, clock } = this.#deps;
    const key = await keys.generate();
    const api = await apiOf(this.current());
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
