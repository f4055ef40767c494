import { errorText } from '../../../base/error-text.ts';
import type { Clock } from '../../../host/clock.ts';
import { DigestError } from '../../storage/digest.ts';
import type { HostClient } from './host-client.ts';
import { IdleTimeoutError, isTransient, isUnreachable, RegistryError, SlowTransferError } from './registry-error.ts';

/** How many times all hosts may fail in a row. */
const MAX_ROUNDS = 4;
const INITIAL_BACKOFF_MS = 100;
/** A longer Retry-After ends the pull; a later pull may try again. */
const MAX_RETRY_AFTER_MS = 60_000;

interface Failure {
  readonly host: HostClient;
  readonly error: unknown;
}

/** All hosts failed. The message has a reason for each. */
export class AllHostsFailedError extends Error {
  override readonly name = 'AllHostsFailedError';
  /** Whether every host answered 404. */
  readonly isNotFound: boolean;

  constructor(failures: readonly Failure[]) {
    super(failures.length === 0 ? 'no host has the required capabilities' : failures.map(failureText).join('; '));
    this.isNotFound = failures.every(({ error }) => error instanceof RegistryError && error.status === 404);
  }
}

/**
 * Selects the host for each attempt to fetch one item: the hosts in order, deprioritized ones last, and all again after
 * a growing pause, as long as the error of the registry itself, which is the last host, is transient.
 */
export class MirrorFailover {
  readonly #hosts: readonly HostClient[];
  readonly #registry: HostClient | undefined;
  readonly #deprioritized: Set<HostClient>;
  readonly #clock: Clock;
  #failures: Failure[] = [];
  #round = 1;
  #index = 0;

  /** Unreachable hosts are added to `deprioritized`. Throws `AllHostsFailedError` if there are no hosts. */
  constructor(hosts: readonly HostClient[], deprioritized: Set<HostClient>, clock: Clock) {
    if (hosts.length === 0) throw new AllHostsFailedError([]);
    this.#hosts = hosts.toSorted((a, b) => Number(deprioritized.has(a)) - Number(deprioritized.has(b)));
    this.#registry = hosts.at(-1);
    this.#deprioritized = deprioritized;
    this.#clock = clock;
  }

  get host(): HostClient {
    const host = this.#hosts[this.#index];
    if (host === undefined) throw new RangeError('no host at this index');
    return host;
  }

  /** Continues with the same host after progress and forgets earlier failures. */
  async resume(signal: AbortSignal): Promise<void> {
    this.#failures = [];
    this.#round = 1;
    await this.#clock.sleep(INITIAL_BACKOFF_MS, signal);
  }

  /** Selects the next host. Rejects with `AllHostsFailedError` after the last one, or with an error that is not a host's. */
  async failOver(error: unknown, signal: AbortSignal): Promise<void> {
    if (!isHostError(error)) throw error;
    this.#failures.push({ host: this.host, error });
    if (isUnreachable(error)) this.#deprioritized.add(this.host);
    this.#index = (this.#index + 1) % this.#hosts.length;
    if (this.#failures.length < this.#hosts.length) return;
    const backoffMs = this.#backoffMs();
    if (backoffMs === undefined) throw new AllHostsFailedError(this.#failures);
    this.#failures = [];
    this.#round++;
    await this.#clock.sleep(backoffMs, signal);
  }

  #backoffMs(): number | undefined {
    const error = this.#failures.find(({ host }) => host === this.#registry)?.error;
    const isTooSlow = error instanceof IdleTimeoutError || error instanceof SlowTransferError;
    if (this.#round >= MAX_ROUNDS || !isTransient(error) || isTooSlow) return undefined;
    const requested = error instanceof RegistryError ? (error.retryAfterMs ?? 0) : 0;
    return requested > MAX_RETRY_AFTER_MS
      ? undefined
      : Math.max(requested, INITIAL_BACKOFF_MS * 2 ** (this.#round - 1));
  }
}

/** Whether another host may succeed: this one is unreachable, rejects the request, or has invalid content. */
function isHostError(error: unknown): boolean {
  return (
    isUnreachable(error) ||
    error instanceof RegistryError ||
    error instanceof DigestError ||
    error instanceof SyntaxError
  );
}

function failureText({ host, error }: Failure): string {
  const text = errorText(error);
  const pause = error instanceof RegistryError ? error.retryAfterMs : undefined;
  const later = pause === undefined ? '' : ` (retry after ${Math.ceil(pause / 1000)} seconds)`;
  return `${text.startsWith(host.url) ? '' : `${host.url}: `}${text}${later}`;
}
