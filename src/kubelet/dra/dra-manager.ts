import type { Pod } from '../../api/generated/core-v1.ts';
import { abortable } from '../../base/abortable.ts';
import { KeyedMutex } from '../../base/keyed-mutex.ts';
import type { Clock } from '../../host/clock.ts';
import { type DraDriver, DraDriverNotRegisteredError, type DraDrivers } from '../../plugins/dra/dra-drivers.ts';
import type { Claim } from '../../plugins/generated/dra-v1.ts';
import { goErrorText } from '../../plugins/plugin-error.ts';
import type { ApiServer } from '../api-client/api-server.ts';
import { isApiError } from '../api-client/is-api-error.ts';
import { CausedError, podCauseOf } from '../pod/pod-cause.ts';
import { checkClaim } from './check-claim.ts';
import type { ClaimCache } from './claim-cache.ts';
import { type ClaimInfo, claimKey, withDevices, withoutPod, withPod } from './claim-info.ts';
import { draChannel } from './dra-channel.ts';
import { checkPrepared, checkUnprepared } from './driver-answers.ts';
import { type ClaimGates, podClaims } from './pod-claims.ts';

export interface DraManagerDeps {
  readonly api: Pick<ApiServer, 'get'>;
  readonly drivers: DraDrivers;
  readonly cache: ClaimCache;
  readonly gates: ClaimGates;
  readonly clock: Pick<Clock, 'monotonic'>;
}

/**
 * Prepares and unprepares the claims of pods by calls to their drivers.
 *
 * 1. A claim is on disk with its pod before a driver is called, so that no prepared claim is forgotten. A pod whose claims
 *    cannot be used, or whose drivers are missing, leaves nothing behind and can be deleted at any time.
 * 2. Calls for one claim take turns. A driver that hangs delays only the pods with claims of it.
 * 3. A claim is unprepared when its last pod has ended, and is forgotten after all of its drivers have confirmed it.
 */
export class DraManager {
  readonly #deps: DraManagerDeps;
  readonly #turns = new KeyedMutex();
  /** Pods that cannot continue without a driver, by its name. */
  readonly #waiting = new Map<string, Set<string>>();

  constructor(deps: DraManagerDeps) {
    this.#deps = deps;
  }

  /** Whether all claims of the pod are recorded for it. */
  hasClaims(pod: Pod): boolean {
    const { namespace, uid } = pod.metadata;
    const keys = podClaims(pod, this.#deps.gates).map(({ claimName }) => claimKey({ namespace, name: claimName }));
    return keys.every((key) => this.#deps.cache.get(key)?.podUids.has(uid));
  }

  /** Whether claims of the pod may be prepared. */
  mightNeedUnprepare(podUid: string): boolean {
    return this.#deps.cache.ofPod(podUid).length > 0;
  }

  /** The pods that wait for the driver, which is there now. */
  takeWaiting(driver: string): readonly string[] {
    const uids = [...(this.#waiting.get(driver) ?? [])];
    this.#waiting.delete(driver);
    return uids;
  }

  /** Idempotent. Rejects with kubelet's messages. */
  async prepare(pod: Pod, signal: AbortSignal): Promise<void> {
    const { uid } = pod.metadata;
    await this.#published('PrepareResources', 'prepare dynamic resources', uid, signal, async () => {
      const wanted = await this.#findClaims(pod, signal);
      if (wanted.length === 0) return;
      const turn = this.#inTurn(wanted.map(claimKey), () => this.#prepare(uid, wanted, signal));
      await abortable(turn, signal);
    });
  }

  /** Idempotent, and safe for a pod whose claims were never prepared. */
  async unprepare(podUid: string, signal: AbortSignal): Promise<void> {
    const keys = this.#deps.cache.ofPod(podUid);
    if (keys.length === 0) return;
    await this.#published('UnprepareResources', 'unprepare dynamic resources', podUid, signal, () =>
      abortable(
        this.#inTurn(keys, () => this.#unprepare(podUid, signal)),
        signal,
      ),
    );
  }

  async #published(
    operation: 'PrepareResources' | 'UnprepareResources',
    what: string,
    uid: string,
    signal: AbortSignal,
    work: () => Promise<void>,
  ): Promise<void> {
    const { clock } = this.#deps;
    const beganMs = clock.monotonic();
    let isError = true;
    try {
      await this.#explained(what, uid, signal, work);
      isError = false;
    } finally {
      draChannel.publish({ operation, isError, tookMs: clock.monotonic() - beganMs });
    }
  }

  /** Changes nothing: a pod that fails here does not depend on its drivers. */
  async #findClaims(pod: Pod, signal: AbortSignal): Promise<readonly ClaimInfo[]> {
    const { api, drivers, gates } = this.#deps;
    const { namespace } = pod.metadata;
    const found: ClaimInfo[] = [];
    for (const claim of podClaims(pod, gates)) {
      const name = claim.claimName;
      const object = await api.get({ resource: 'resourceclaims', namespace, name }, signal).catch((error: unknown) => {
        const cause = { kind: 'resourceClaimNotReady', claim: name, why: 'notFound' } as const;
        const isMissing = isApiError(error, 'NotFound');
        throw new CausedError(`fetch ResourceClaim ${name}: ${goErrorText(error)}`, isMissing ? cause : undefined, {
          cause: error,
        });
      });
      const info = checkClaim(pod, object, claim);
      for (const driver of info.devices.keys()) drivers.driver(driver);
      found.push(info);
    }
    return found;
  }

  async #prepare(podUid: string, wanted: readonly ClaimInfo[], signal: AbortSignal): Promise<void> {
    const { cache } = this.#deps;
    signal.throwIfAborted();
    const infos = wanted.map((info) => sameClaim(cache.get(claimKey(info)), info));
    for (const info of infos) cache.set(withPod(info, podUid));
    await this.#flush('ResourceClaim cache');
    const missing = infos.filter((info) => !cache.isPrepared(claimKey(info)));
    for (const [name, claims] of byDriver(missing)) {
      const response = await this.#called('NodePrepareResources', this.#deps.drivers.driver(name), (driver) =>
        driver.prepare(claims, signal),
      );
      for (const [key, devices] of checkPrepared(claims, response)) {
        const info = cache.get(key);
        if (info) cache.set(withDevices(info, name, devices));
      }
    }
    for (const info of missing) cache.setPrepared(claimKey(info), true);
    await this.#flush('ResourceClaim state');
  }

  async #unprepare(podUid: string, signal: AbortSignal): Promise<void> {
    const { cache, drivers } = this.#deps;
    signal.throwIfAborted();
    const infos = cache.ofPod(podUid).flatMap((key) => cache.get(key) ?? []);
    const unused = infos.filter(({ podUids }) => podUids.size === 1);
    for (const info of infos) if (!unused.includes(info)) cache.set(withoutPod(info, podUid));
    // From here on some drivers may have unprepared a claim, and others not.
    for (const info of unused) cache.setPrepared(claimKey(info), false);
    for (const [name, claims] of byDriver(unused)) {
      const response = await this.#called('NodeUnprepareResources', drivers.driver(name), (driver) =>
        driver.unprepare(claims, signal),
      );
      checkUnprepared(claims, response);
    }
    for (const info of unused) cache.delete(claimKey(info));
    await this.#flush('ResourceClaim state');
  }

  async #called<T>(rpc: string, driver: DraDriver, call: (driver: DraDriver) => Promise<T>): Promise<T> {
    try {
      return await call(driver);
    } catch (error) {
      throw new Error(`${rpc}: ${goErrorText(error)}`, { cause: error });
    }
  }

  async #flush(what: string): Promise<void> {
    try {
      await this.#deps.cache.flush();
    } catch (error) {
      throw new Error(`checkpoint ${what}: ${goErrorText(error)}`, { cause: error });
    }
  }

  /** Always in the same order, so that two pods with the same claims never wait for each other. */
  #inTurn<T>(keys: readonly string[], work: () => Promise<T>): Promise<T> {
    const [first, ...rest] = [...new Set(keys)].sort((one, other) => (one < other ? -1 : 1));
    if (first === undefined) return work();
    return this.#turns.run(first, () => this.#inTurn(rest, work));
  }

  /** Prefixes errors as kubelet does, and remembers which driver a pod waits for. */
  async #explained(verb: string, podUid: string, signal: AbortSignal, work: () => Promise<void>): Promise<void> {
    try {
      await work();
    } catch (error) {
      signal.throwIfAborted();
      const driver = error instanceof DraDriverNotRegisteredError ? error.driver : undefined;
      if (driver !== undefined) this.#waiting.set(driver, (this.#waiting.get(driver) ?? new Set()).add(podUid));
      const cause = driver === undefined ? podCauseOf(error) : ({ kind: 'draDriverNotRegistered', driver } as const);
      throw new CausedError(`${verb}: ${goErrorText(error)}`, cause, { cause: error });
    }
  }
}

/** The known claim if it is the same object. */
function sameClaim(known: ClaimInfo | undefined, wanted: ClaimInfo): ClaimInfo {
  if (!known) return wanted;
  if (known.uid === wanted.uid) return known;
  const old = `old ResourceClaim with same name ${wanted.name} and different UID ${known.uid}`;
  throw new Error(`${old} still exists (previous pod force-deleted?!)`);
}

/** One call for each driver, with all claims that it has a part in. */
function byDriver(infos: readonly ClaimInfo[]): ReadonlyMap<string, readonly Claim[]> {
  const batches = new Map<string, Claim[]>();
  for (const { uid, name, namespace, devices } of infos) {
    for (const driver of devices.keys()) {
      batches.set(driver, [...(batches.get(driver) ?? []), { uid, name, namespace }]);
    }
  }
  return batches;
}
