import type { Lease, Node } from '../../../api/generated/core-v1.ts';
import { ExponentialBackoff } from '../../../base/exponential-backoff.ts';
import type { Log } from '../../../base/log.ts';
import { formatMicroTime } from '../../../base/rfc3339.ts';
import type { Clock } from '../../../host/clock.ts';
import type { Random } from '../../../host/random.ts';
import type { ApiServer, ObjectKey } from '../../api-client/api-server.ts';
import { isApiError } from '../../api-client/is-api-error.ts';
import { nodeKey } from '../node-cache.ts';

const RENEWALS_PER_LEASE = 4;
const JITTER = 0.04;
const UPDATE_TRIES = 5;
const RETRY = { firstMs: 200, maxMs: 7_000, jitter: 0 };

export interface NodeLeaseDeps {
  readonly api: Pick<ApiServer, 'get' | 'create' | 'update'>;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
}

export interface NodeLeaseSettings {
  readonly nodeName: string;
  readonly leaseSeconds: number;
}

export function leaseKey(nodeName: string): ObjectKey<'leases'> {
  return { resource: 'leases', namespace: 'kube-node-lease', name: nodeName };
}

/** A lease renewed at `nowMs`: a new one, or `base`. It is owned by the node, so that it is deleted with it. */
export function renewedLease(
  base: Lease | undefined,
  node: Node | undefined,
  { nodeName, leaseSeconds }: NodeLeaseSettings,
  nowMs: number,
): Lease {
  const { name, namespace } = leaseKey(nodeName);
  const lease = base ?? { metadata: { name, namespace }, spec: { holderIdentity: nodeName } };
  const owner = { apiVersion: 'v1', kind: 'Node', name: nodeName, uid: node?.metadata.uid ?? '' };
  return {
    ...lease,
    metadata: { ...lease.metadata, ...(isOwned(lease) || !node ? {} : { ownerReferences: [owner] }) },
    spec: { ...lease.spec, leaseDurationSeconds: leaseSeconds, renewTime: formatMicroTime(nowMs) },
  };
}

function isOwned({ metadata }: Lease): boolean {
  return (metadata.ownerReferences ?? []).length > 0;
}

/**
 * Renews the node's lease four times per lease duration, with jitter. No lease is created before its owner, the node,
 * exists.
 */
export class NodeLease {
  readonly #settings: NodeLeaseSettings;
  readonly #deps: NodeLeaseDeps;
  /** The last response of the API server. */
  #latest: Lease | undefined;

  constructor(settings: NodeLeaseSettings, deps: NodeLeaseDeps) {
    this.#settings = settings;
    this.#deps = deps;
  }

  async run(signal: AbortSignal): Promise<void> {
    const { clock, random, log } = this.#deps;
    const periodMs = (this.#settings.leaseSeconds * 1000) / RENEWALS_PER_LEASE;
    while (!signal.aborted) {
      try {
        await this.#renew(signal);
      } catch (error) {
        if (signal.aborted) return;
        log.warn('cannot renew the node lease, retrying', { error });
      }
      await clock.sleep(periodMs * (1 + JITTER * random.fraction()), signal).catch(() => undefined);
    }
  }

  async #renew(signal: AbortSignal): Promise<void> {
    if (this.#latest) {
      try {
        // There is no other writer, so the last version is current.
        return await this.#update(this.#latest, signal);
      } catch (error) {
        if (signal.aborted) return;
        this.#deps.log.info('cannot renew the cached node lease', { error });
      }
    }
    const { lease, isNew } = await this.#ensure(signal);
    this.#latest = lease;
    if (lease && !isNew) await this.#update(lease, signal);
  }

  async #update(base: Lease, signal: AbortSignal): Promise<void> {
    const { api, log } = this.#deps;
    let current: Lease | undefined = base;
    for (let attempt = 1; current; attempt++) {
      try {
        const renewed = await this.#renewed(current, signal);
        this.#latest = await api.update(leaseKey(this.#settings.nodeName), renewed, signal);
        return;
      } catch (error) {
        if (signal.aborted || attempt === UPDATE_TRIES) throw error;
        log.debug('cannot renew the node lease', { attempt, error });
        if (isApiError(error, 'Conflict')) ({ lease: current } = await this.#ensure(signal));
      }
    }
    this.#latest = undefined;
  }

  /**
   * Retries until the server responds. The lease is `undefined` if it does not exist and there is no node to own it.
   */
  async #ensure(signal: AbortSignal): Promise<{ readonly lease: Lease | undefined; readonly isNew: boolean }> {
    const { clock, log } = this.#deps;
    const backoff = new ExponentialBackoff(RETRY);
    for (;;) {
      try {
        return await this.#find(signal);
      } catch (error) {
        signal.throwIfAborted();
        const waitMs = backoff.next(0);
        log.warn('cannot get or create the node lease, retrying', { waitMs, error });
        await clock.sleep(waitMs, signal);
      }
    }
  }

  async #find(signal: AbortSignal): Promise<{ readonly lease: Lease | undefined; readonly isNew: boolean }> {
    const { api } = this.#deps;
    const key = leaseKey(this.#settings.nodeName);
    try {
      return { lease: await api.get(key, signal), isNew: false };
    } catch (error) {
      if (!isApiError(error, 'NotFound')) throw error;
    }
    const lease = await this.#renewed(undefined, signal);
    if (!isOwned(lease)) return { lease: undefined, isNew: false };
    return { lease: await api.create(key, lease, signal), isNew: true };
  }

  async #renewed(base: Lease | undefined, signal: AbortSignal): Promise<Lease> {
    const { api, clock, log } = this.#deps;
    const node =
      base && isOwned(base)
        ? undefined
        : await api.get(nodeKey(this.#settings.nodeName), signal).catch((error: unknown) => {
            log.warn('cannot get the node that owns the lease', { error });
            return undefined;
          });
    return renewedLease(base, node, this.#settings, clock.now());
  }
}
