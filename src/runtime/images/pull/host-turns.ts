import { textOf } from '../../../base/text-of.ts';
import type { Clock } from '../../../host/clock.ts';
import { DigestError } from '../../storage/digest.ts';
import type { HostClient } from './host-client.ts';
import { isAway, isPassing, RegistryError, SilentError } from './registry-error.ts';

/** How often in a row all hosts may fail. */
const ROUNDS = 4;
const FIRST_PAUSE_MS = 100;
/** Whoever wants to be left alone for longer is given up; the next pull may come then. */
const MAX_PAUSE_MS = 60_000;

interface Failure {
  readonly host: HostClient;
  readonly error: unknown;
}

/** Nobody gave what was asked for. The message has a reason for each. */
export class NoHostError extends Error {
  override readonly name = 'NoHostError';
  /** Whether it is nowhere, and nobody failed to say so. */
  readonly isNotFound: boolean;

  constructor(failures: readonly Failure[]) {
    super(failures.length === 0 ? 'no host may be asked for it' : failures.map(failureText).join('; '));
    this.isNotFound = failures.every(({ error }) => error instanceof RegistryError && error.status === 404);
  }
}

/**
 * Whose turn it is to give one thing: the hosts in their order, those of `behind` after the others, and all again after a
 * growing pause, as long as the registry itself, which is the last of them, may do better.
 */
export class HostTurns {
  readonly #hosts: readonly HostClient[];
  readonly #registry: HostClient | undefined;
  readonly #behind: Set<HostClient>;
  readonly #clock: Clock;
  #failures: Failure[] = [];
  #round = 1;
  #index = 0;

  /** Those that do not answer are put into `behind`. Throws a `NoHostError` when there are no hosts. */
  constructor(hosts: readonly HostClient[], behind: Set<HostClient>, clock: Clock) {
    if (hosts.length === 0) throw new NoHostError([]);
    this.#hosts = hosts.toSorted((a, b) => Number(behind.has(a)) - Number(behind.has(b)));
    this.#registry = hosts.at(-1);
    this.#behind = behind;
    this.#clock = clock;
  }

  get host(): HostClient {
    const host = this.#hosts[this.#index];
    if (host === undefined) throw new RangeError('there is no such host');
    return host;
  }

  /** Something came, so that earlier failures are of no account; the same host is asked on. */
  async goOn(signal: AbortSignal): Promise<void> {
    this.#failures = [];
    this.#round = 1;
    await this.#clock.sleep(FIRST_PAUSE_MS, signal);
  }

  /** Rejects with a `NoHostError` when nobody is left, or with what is no host's failure. */
  async failed(error: unknown, signal: AbortSignal): Promise<void> {
    if (!isOfHost(error)) throw error;
    this.#failures.push({ host: this.host, error });
    if (isAway(error)) this.#behind.add(this.host);
    this.#index = (this.#index + 1) % this.#hosts.length;
    if (this.#failures.length < this.#hosts.length) return;
    const pauseMs = this.#pauseMs();
    if (pauseMs === undefined) throw new NoHostError(this.#failures);
    this.#failures = [];
    this.#round++;
    await this.#clock.sleep(pauseMs, signal);
  }

  #pauseMs(): number | undefined {
    const error = this.#failures.find(({ host }) => host === this.#registry)?.error;
    const isOver = this.#round >= ROUNDS || !isPassing(error) || error instanceof SilentError;
    if (isOver) return undefined;
    const wanted = error instanceof RegistryError ? (error.retryAfterMs ?? 0) : 0;
    return wanted > MAX_PAUSE_MS ? undefined : Math.max(wanted, FIRST_PAUSE_MS * 2 ** (this.#round - 1));
  }
}

/** What another host may do better: it is away, refuses, or has something else than it should. */
function isOfHost(error: unknown): boolean {
  return (
    isAway(error) || error instanceof RegistryError || error instanceof DigestError || error instanceof SyntaxError
  );
}

function failureText({ host, error }: Failure): string {
  const text = textOf(error);
  const pause = error instanceof RegistryError ? error.retryAfterMs : undefined;
  const later = pause === undefined ? '' : ` (to be asked again in ${Math.ceil(pause / 1000)} seconds)`;
  return `${text.startsWith(host.place) ? '' : `${host.place}: `}${text}${later}`;
}
