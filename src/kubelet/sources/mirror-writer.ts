import { ChangeSignal } from '../../base/change-signal.ts';
import { ExponentialBackoff } from '../../base/exponential-backoff.ts';
import type { Log } from '../../base/log.ts';
import type { Clock } from '../../host/clock.ts';
import type { Random } from '../../host/random.ts';
import type { ApiServer } from '../api-client/api-server.ts';
import { isApiError } from '../api-client/is-api-error.ts';
import { type MirrorView, type NodeIdentity, planMirrorPods, syncMirrorPods } from './mirror-pods.ts';

/** As soon as kubelet looks whether the node is registered, at first. */
const RETRY = { firstMs: 100, maxMs: 10_000, jitter: 0.5 };

export interface MirrorWriterDeps {
  readonly api: ApiServer;
  readonly nodeName: string;
  /** How things stand at this moment. */
  readonly view: () => MirrorView;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
}

export interface MirrorWriter {
  run(signal: AbortSignal): Promise<void>;
  /** A source has spoken, or a pod that nobody wants any more is gone. */
  changed(): void;
}

/**
 * Keeps a mirror pod at the API server for each static pod. One round at a time, each with what is true then; what
 * fails, and mirrors for which the node is not registered yet, are tried again.
 */
export function createMirrorWriter(deps: MirrorWriterDeps): MirrorWriter {
  const bell = new ChangeSignal();
  return { run: (signal) => keepMirrors(bell, deps, signal), changed: () => bell.notify() };
}

async function keepMirrors(bell: ChangeSignal, deps: MirrorWriterDeps, signal: AbortSignal): Promise<void> {
  const { clock, random, log } = deps;
  const pause = new ExponentialBackoff(RETRY);
  signal.addEventListener('abort', () => bell.close(), { once: true });
  while (!signal.aborted && (await bell.next())) {
    try {
      await syncOnce(deps, signal);
      pause.reset();
    } catch (error) {
      if (signal.aborted) return;
      log.warn('cannot bring the mirror pods up to date, will try again', { error });
      bell.notify();
      await clock.sleep(pause.next(random.fraction()), signal).catch(() => undefined);
    }
  }
}

async function syncOnce(deps: MirrorWriterDeps, signal: AbortSignal): Promise<void> {
  const plan = planMirrorPods(deps.view());
  const makesSome = plan.create.length + plan.recreate.length > 0;
  const node = makesSome ? await registeredNode(deps, signal) : undefined;
  await syncMirrorPods(plan, { api: deps.api, node }, signal);
  if (makesSome && !node) throw new Error(`the node ${JSON.stringify(deps.nodeName)} is not registered`);
}

/** Nothing also while the node is being deleted: its pods would only be in the way. */
async function registeredNode(
  { api, nodeName }: MirrorWriterDeps,
  signal: AbortSignal,
): Promise<NodeIdentity | undefined> {
  try {
    const { metadata } = await api.get({ resource: 'nodes', namespace: '', name: nodeName }, signal);
    if (!metadata.uid || metadata.deletionTimestamp) return undefined;
    return { name: nodeName, uid: metadata.uid };
  } catch (error) {
    if (isApiError(error, 'NotFound')) return undefined;
    throw error;
  }
}
