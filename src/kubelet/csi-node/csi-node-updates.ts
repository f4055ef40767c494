import type { CSIDriver } from '../../api/generated/core-v1.ts';
import { aborted } from '../../base/aborted.ts';
import type { Log } from '../../base/log.ts';
import type { Clock } from '../../host/clock.ts';
import type { CsiNodeInfo } from '../../plugins/csi/csi-node-info.ts';
import type { CsiDriverObjects } from './csi-driver-objects.ts';

export interface CsiNodeUpdatesDeps {
  readonly drivers: {
    has(name: string): boolean;
    nodeInfo(name: string, signal: AbortSignal): Promise<CsiNodeInfo>;
    subscribe(listener: (name: string) => void): () => void;
  };
  readonly objects: Pick<CsiDriverObjects, 'cached' | 'onChange'>;
  readonly record: { update(name: string, info: CsiNodeInfo, signal: AbortSignal): Promise<void> };
  readonly clock: Clock;
  readonly log: Log;
}

/**
 * Repeats what drivers say about this node in the CSINode object: how many volumes it can have may change. The period is
 * `nodeAllocatableUpdatePeriodSeconds` of the CSIDriver object; without it the driver is asked only when it registers.
 */
export class CsiNodeUpdates {
  readonly #deps: CsiNodeUpdatesDeps;
  readonly #running = new Map<string, { readonly periodMs: number; readonly stop: AbortController }>();

  constructor(deps: CsiNodeUpdatesDeps) {
    this.#deps = deps;
  }

  /** Updates once, now: kubelet does so when a volume cannot be attached because the node has too many. */
  async refresh(driverName: string, signal: AbortSignal): Promise<void> {
    const { drivers, record } = this.#deps;
    await record.update(driverName, await drivers.nodeInfo(driverName, signal), signal);
  }

  async run(signal: AbortSignal): Promise<void> {
    const { drivers, objects } = this.#deps;
    const unsubscribe = [
      drivers.subscribe((name) => this.#restart(name, signal)),
      objects.onChange((name) => this.#follow(name, signal)),
    ];
    await aborted(signal);
    for (const each of unsubscribe) each();
    this.#running.clear();
  }

  /** The period of a driver that registers starts anew. */
  #restart(name: string, signal: AbortSignal): void {
    this.#stop(name);
    this.#follow(name, signal);
  }

  #follow(name: string, signal: AbortSignal): void {
    const periodMs = this.#deps.drivers.has(name) ? updatePeriodMs(this.#deps.objects.cached(name)) : 0;
    if (this.#running.get(name)?.periodMs === periodMs) return;
    this.#stop(name);
    if (periodMs === 0) return;
    const stop = new AbortController();
    this.#running.set(name, { periodMs, stop });
    void this.#repeat(name, periodMs, AbortSignal.any([signal, stop.signal]));
  }

  #stop(name: string): void {
    this.#running.get(name)?.stop.abort(new Error(`CSI driver ${name} has another update period`));
    this.#running.delete(name);
  }

  async #repeat(name: string, periodMs: number, signal: AbortSignal): Promise<void> {
    const { clock, drivers, log } = this.#deps;
    while (!signal.aborted) {
      await clock.sleep(periodMs, signal).catch(() => undefined);
      if (signal.aborted) return;
      if (!drivers.has(name)) return this.#stop(name);
      await this.refresh(name, signal).catch((error: unknown) => {
        if (!signal.aborted) log.warn('cannot update a CSI driver in the CSINode object', { driver: name, error });
      });
    }
  }
}

/** Zero: no updates. */
function updatePeriodMs(object: CSIDriver | undefined): number {
  return (object?.spec.nodeAllocatableUpdatePeriodSeconds ?? 0) * 1000;
}
