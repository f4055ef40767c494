import { ChangeSignal } from '../../base/change-signal.ts';
import { ExponentialBackoff } from '../../base/exponential-backoff.ts';
import type { Log } from '../../base/log.ts';
import type { Clock } from '../../host/clock.ts';
import type { Random } from '../../host/random.ts';
import type { ApiServer } from '../api-client/api-server.ts';
import { isApiError } from '../api-client/is-api-error.ts';
import { type MirrorView, type NodeIdentity, planMirrorPods, syncMirrorPods } from './mirror-pods.ts';

/** kubelet's first retry delay for node registration. */
const RETRY = { firstMs: 100, maxMs: 10_000, jitter: 0.5 };

export interface MirrorWriterDeps {
  readonly api: ApiServer;
  readonly nodeName: string;
  /** The current state. */
  readonly view: () => MirrorView;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
}

export interface MirrorWriter {
  run(signal: AbortSignal): Promise<void>;
  /** Called when a source sent a snapshot, or when a pod that no source wants is gone. */
  requestSync(): void;
}

/**
 * Keeps a mirror pod at the API server for each static pod. One sync at a time, each from the current state. Errors are
 * retried, also while the node is not registered yet.
 */
export function createMirrorWriter(deps: MirrorWriterDeps): MirrorWriter {
  const changes = new ChangeSignal();
  return { run: (signal) => keepMirrors(changes, deps, signal), requestSync: () => changes.notify() };
}

async function keepMirrors(changes: ChangeSignal, deps: MirrorWriterDeps, signal: AbortSignal): Promise<void> {
  const { clock, random, log } = deps;
  const backoff = new ExponentialBackoff(RETRY);
  while (!signal.aborted && (await changes.next(signal))) {
    try {
      await syncOnce(deps, signal);
      backoff.reset();
    } catch (error) {
      if (signal.aborted) return;
      changes.notify();
      log.warn('cannot sync mirror pods, will retry', { error });
      await clock.sleep(backoff.next(random.fraction()), signal).catch(() => undefined);
    }
  }
}

async function syncOnce(deps: MirrorWriterDeps, signal: AbortSignal): Promise<void> {
  const plan = planMirrorPods(deps.view());
  const createsMirrors = plan.create.length + plan.recreate.length > 0;
  const node = createsMirrors ? await registeredNode(deps, signal) : undefined;
  await syncMirrorPods(plan, { api: deps.api, node }, signal);
  if (createsMirrors && !node) throw new Error(`node ${JSON.stringify(deps.nodeName)} is not registered`);
}

/** `undefined` while the node is not registered, or is being deleted. */
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
