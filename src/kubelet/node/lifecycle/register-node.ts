import type { Lease, Node } from '../../../api/generated/core-v1.ts';
import { ExponentialBackoff } from '../../../base/exponential-backoff.ts';
import type { Log } from '../../../base/log.ts';
import type { Clock } from '../../../host/clock.ts';
import type { ApiServer } from '../../api-client/api-server.ts';
import { isApiError } from '../../api-client/is-api-error.ts';
import { leaseKey } from '../lease/node-lease.ts';
import {
  belongsToOtherMachine,
  type LeaseObservation,
  leaseRemainingMs,
  observeLease,
} from '../lease/node-ownership.ts';
import { nodeKey } from '../node-cache.ts';
import { hasNodeChanged, nodePatch } from '../status/node-patch.ts';
import { reconcileNode, withoutDevices } from './reconcile-node.ts';

const RETRY = { firstMs: 100, maxMs: 7_000, jitter: 0 };

export interface RegisterDeps {
  readonly api: Pick<ApiServer, 'get' | 'create' | 'patch'>;
  readonly clock: Clock;
  readonly log: Log;
}

export interface RegisterSettings {
  readonly nodeName: string;
  readonly machineId: string;
  /** `false`: the node object is created by another component. */
  readonly registers: boolean;
  /** The extended resources of an existing node are of another machine: they are set to zero. */
  readonly resetsDevices?: boolean;
}

/** The result of a registration; `absent` if another component has to create the node and has not done so yet. */
export type Registration = { readonly kind: 'created' | 'existing'; readonly node: Node } | { readonly kind: 'absent' };

/**
 * Creates or adopts the node object, and retries until that succeeds; `compose` returns the object to create. While
 * another machine holds the lease of this name, nothing is written and the end of its lease is awaited.
 */
export async function registerNode(
  settings: RegisterSettings,
  compose: () => Promise<Node>,
  deps: RegisterDeps,
  signal: AbortSignal,
): Promise<Registration> {
  const { clock, log } = deps;
  const backoff = new ExponentialBackoff(RETRY);
  const claim = new NodeClaim(settings, deps);
  for (;;) {
    try {
      const answer = await attempt(settings, compose, claim, deps, signal);
      if (answer.kind !== 'taken') return answer;
      log.warn('another machine uses this node name, waiting for its lease to expire', {
        node: settings.nodeName,
        machineId: answer.machineId,
        leaseLeftMs: answer.leftMs,
      });
    } catch (error) {
      signal.throwIfAborted();
      log.warn('cannot register the node, retrying', { node: settings.nodeName, error });
    }
    await clock.sleep(backoff.next(0), signal);
  }
}

interface Taken {
  readonly kind: 'taken';
  readonly machineId: string;
  readonly leftMs: number;
}

async function attempt(
  { nodeName, registers, resetsDevices = false }: RegisterSettings,
  compose: () => Promise<Node>,
  claim: NodeClaim,
  { api, log }: RegisterDeps,
  signal: AbortSignal,
): Promise<Registration | Taken> {
  const key = nodeKey(nodeName);
  const initial = registers ? await compose() : undefined;
  if (initial) {
    try {
      const node = await api.create(key, initial, signal);
      log.info('registered the node', { node: nodeName });
      return { kind: 'created', node };
    } catch (error) {
      // A client that may not create nodes may still use an existing one.
      if (!isApiError(error, 'AlreadyExists', 'Forbidden')) throw error;
    }
  }
  const existing = await orUndefined(api.get(key, signal), registers);
  if (!existing) return { kind: 'absent' };
  const taken = await claim.check(existing, signal);
  if (taken) return taken;
  log.info('the node was registered before', { node: nodeName });
  if (!initial) return { kind: 'existing', node: existing };
  const wanted = reconcileNode(resetsDevices ? withoutDevices(existing) : existing, initial);
  if (!hasNodeChanged(existing, wanted)) return { kind: 'existing', node: existing };
  const node = await api.patch(key, nodePatch(existing, wanted), { subresource: 'status' }, signal);
  return { kind: 'existing', node };
}

/** Maps `NotFound` to `undefined`, unless the object is known to exist. */
async function orUndefined<T>(answer: Promise<T>, isExpected: boolean): Promise<T | undefined> {
  try {
    return await answer;
  } catch (error) {
    if (isApiError(error, 'NotFound') && !isExpected) return undefined;
    throw error;
  }
}

/** Decides whether this machine may use the node's name. Keeps state across attempts. */
class NodeClaim {
  readonly #settings: RegisterSettings;
  readonly #deps: RegisterDeps;
  #observed: LeaseObservation | undefined;

  constructor(settings: RegisterSettings, deps: RegisterDeps) {
    this.#settings = settings;
    this.#deps = deps;
  }

  async check(existing: Node, signal: AbortSignal): Promise<Taken | undefined> {
    const { machineId, nodeName } = this.#settings;
    const { api, clock } = this.#deps;
    if (!belongsToOtherMachine(existing, machineId)) return undefined;
    const lease: Lease | undefined = await orUndefined(api.get(leaseKey(nodeName), signal), false);
    this.#observed = observeLease(lease, this.#observed, clock.monotonic());
    if (!lease || !this.#observed) return undefined;
    const now = { wallMs: clock.now(), monotonicMs: clock.monotonic() };
    const leftMs = leaseRemainingMs(lease, this.#observed, now);
    if (leftMs <= 0) return undefined;
    return { kind: 'taken', machineId: existing.status?.nodeInfo?.machineID ?? '', leftMs };
  }
}
