import { aborted } from '../../base/aborted.ts';
import { errorText } from '../../base/error-text.ts';
import type { Log } from '../../base/log.ts';
import type { RuntimeService } from '../../cri/services.ts';
import type { Clock } from '../../host/clock.ts';
import type { NodeCache } from '../node/node-cache.ts';

/** kubelet tries again with the next status of the node. */
const RETRY_MS = 10_000;

export interface PodCidrDeps {
  readonly runtime: Pick<RuntimeService, 'updateRuntimeConfig'>;
  readonly node: Pick<NodeCache, 'current' | 'subscribe'>;
  readonly clock: Pick<Clock, 'sleep'>;
  readonly log: Pick<Log, 'info' | 'error'>;
}

/**
 * Passes the pod CIDRs to the runtime, which may configure its network with them: first `podCIDR` of the configuration, then
 * those of the node object whenever they change. Runs until the signal aborts.
 */
export async function passPodCidr(
  configured: string,
  { runtime, node, clock, log }: PodCidrDeps,
  signal: AbortSignal,
): Promise<void> {
  let passed = '';
  while (!signal.aborted) {
    const changed = new AbortController();
    const unsubscribe = node.subscribe(() => changed.abort(CHANGED));
    const until = AbortSignal.any([signal, changed.signal]);
    try {
      const wanted = node.current?.spec?.podCIDRs?.join(',') || passed || configured;
      if (wanted === passed) {
        await aborted(until);
        continue;
      }
      await runtime.updateRuntimeConfig({ runtimeConfig: { networkConfig: { podCidr: wanted } } }, signal);
      log.info('Updating Pod CIDR', { originalPodCIDR: passed, newPodCIDR: wanted });
      passed = wanted;
    } catch (error) {
      if (signal.aborted) return;
      log.error('Error updating pod CIDR', { error: `failed to update pod CIDR: ${errorText(error)}` });
      await clock.sleep(RETRY_MS, until).catch(() => undefined);
    } finally {
      unsubscribe();
    }
  }
}

const CHANGED = new Error('the node object changed');
