import { abortable } from '../../base/abortable.ts';
import { assertNever } from '../../base/assert-never.ts';
import { CriError } from '../../cri/cri-error.ts';
import type { Clock } from '../../host/clock.ts';
import { signalNumber } from '../spec/stop-signal.ts';
import type { ContainerRecord } from '../store/container-record.ts';
import { type ContainerDeps, hasOwnPidNamespace, monitoredName, runtimeOf } from './container-deps.ts';
import type { ContainerLedger } from './container-ledger.ts';
import { type ContainerEnded, endUnseen, nanoseconds } from './container-life.ts';
import type { LiveContainer, LiveContainers } from './live-containers.ts';
import { SIGKILL } from './stop-signal.ts';

export type EndDeps = Pick<ContainerDeps, 'clock' | 'paths' | 'runtimes'> & {
  readonly ledger: ContainerLedger;
  readonly live: LiveContainers;
  readonly tellEnd: (record: ContainerRecord) => Promise<void>;
};

/** A process that does not end after SIGKILL waits for a disk or a network; longer than this is no use. */
export const KILL_BOUND_MS = 60_000;

/**
 * Asks the container to end, and kills it after `graceMs`. Several at once: the first one asks, the shortest grace kills.
 * The grace is not spent in the container's turn, so that nobody has to wait for it.
 */
export async function endContainer(id: string, graceMs: number, deps: EndDeps, signal: AbortSignal): Promise<void> {
  const { ledger, clock } = deps;
  const live = await ledger.turn(id, () => liveUnlessOver(id, deps, signal));
  const record = ledger.all.get(id);
  if (live === undefined || record === undefined) return;
  if (graceMs > 0) {
    await askToEnd(record, live, deps);
    if (await settlesWithin(live.exited, graceMs, clock, signal)) return;
  }
  await killContainer(record, live, deps, signal);
}

/** Resolves when the record says that it has ended. */
export async function killContainer(
  record: ContainerRecord,
  live: LiveContainer,
  { clock, paths, runtimes }: EndDeps,
  signal: AbortSignal,
): Promise<void> {
  await runtimeOf(runtimes, record).kill(monitoredName(paths, record.id), SIGKILL, {
    all: !hasOwnPidNamespace(record),
  });
  if (await settlesWithin(live.exited, KILL_BOUND_MS, clock, signal)) return;
  throw new CriError(
    'DeadlineExceeded',
    `container ${record.id} is still there ${KILL_BOUND_MS / 1000} s after it was killed: its processes cannot end`,
  );
}

async function askToEnd(record: ContainerRecord, live: LiveContainer, { paths, runtimes }: EndDeps): Promise<void> {
  if (live.stopSignalled) return;
  live.stopSignalled = true;
  try {
    // Chosen at the creation, where only signals that exist pass.
    const number = signalNumber(record.stopSignal) ?? SIGKILL;
    await runtimeOf(runtimes, record).kill(monitoredName(paths, record.id), number);
  } catch (error) {
    live.stopSignalled = false;
    throw error;
  }
}

/** In its turn: what does not run is over then. */
async function liveUnlessOver(id: string, deps: EndDeps, signal: AbortSignal): Promise<LiveContainer | undefined> {
  signal.throwIfAborted();
  const { ledger, live, clock, paths, runtimes } = deps;
  const record = ledger.all.get(id);
  if (record === undefined) return undefined;
  const { phase } = record.life;
  switch (phase) {
    case 'running':
      return live.get(id) ?? live.watch(record);
    case 'starting':
      // Nobody is starting it, for it is our turn: neither its start nor its failure could be recorded.
      await runtimeOf(runtimes, record).remove(monitoredName(paths, id), signal);
      await settle(id, endUnseen('its start could not be recorded', nanoseconds(clock.now())), deps);
      return undefined;
    case 'creating':
    case 'created': // may still be started, as in containerd
    case 'exited':
      return undefined;
    default:
      return assertNever(phase);
  }
}

/** Records an end that no watcher sees, and tells it. */
export async function settle(
  id: string,
  end: ContainerEnded,
  { ledger, tellEnd }: Pick<EndDeps, 'ledger' | 'tellEnd'>,
): Promise<void> {
  const ended = await ledger.change(id, end);
  if (ended) await tellEnd(ended);
}

/** `false`: the time is over. Rejects with the signal's reason when that aborts. */
async function settlesWithin(work: Promise<void>, ms: number, clock: Clock, signal: AbortSignal): Promise<boolean> {
  const done = new AbortController();
  const time = clock.sleep(ms, done.signal).then(() => false);
  try {
    return await abortable(Promise.race([work.then(() => true), time]), signal);
  } finally {
    done.abort();
    time.catch(() => {});
  }
}
