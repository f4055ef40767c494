import type { NetworkedPod, NetworkStatus, PodAddresses, PodNetwork } from '../pod-network.ts';

/** Pod networks without plugins: addresses from 10.88.0.2 on, one for each sandbox. */
export class MemoryPodNetwork implements PodNetwork {
  /** In the order of the calls, including failed ones. */
  readonly setUps: NetworkedPod[] = [];
  readonly tearDowns: NetworkedPod[] = [];
  readonly collected: ReadonlySet<string>[] = [];
  /** Sandboxes that have an address now, which shows leaks. A failed set-up holds one until it is torn down. */
  readonly held = new Map<string, string>();
  podCidr: string | undefined;
  networkStatus: NetworkStatus = { ready: true, networks: ['memory'] };
  readonly #failures: Record<'setUp' | 'tearDown', Error[]> = { setUp: [], tearDown: [] };
  #lastAddress = 1;

  /** Makes the next call of this kind reject; several errors are used in order. */
  failNext(operation: 'setUp' | 'tearDown', error: Error = new Error(`${operation} fails on request`)): void {
    this.#failures[operation].push(error);
  }

  status(): NetworkStatus {
    return this.networkStatus;
  }

  handlerStatuses(): ReadonlyMap<string, NetworkStatus> {
    return new Map();
  }

  async setUp(pod: NetworkedPod, signal: AbortSignal): Promise<PodAddresses> {
    signal.throwIfAborted();
    this.setUps.push(pod);
    this.#lastAddress += 1;
    const ip = `10.88.${this.#lastAddress >> 8}.${this.#lastAddress & 0xff}`;
    this.held.set(pod.sandboxId, ip);
    const failure = this.#failures.setUp.shift();
    if (failure) throw failure;
    return { ips: [ip], results: { 'memory/eth0': { ips: [{ address: `${ip}/16` }] } } };
  }

  async tearDown(pod: NetworkedPod, signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    this.tearDowns.push(pod);
    const failure = this.#failures.tearDown.shift();
    if (failure) throw failure;
    this.held.delete(pod.sandboxId);
  }

  async collectGarbage(liveSandboxIds: ReadonlySet<string>, signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    this.collected.push(new Set(liveSandboxIds));
    for (const id of this.held.keys()) {
      if (!liveSandboxIds.has(id)) this.held.delete(id);
    }
  }

  setPodCidr(podCidr: string): void {
    this.podCidr = podCidr;
  }

  async refresh(): Promise<void> {}

  async run(signal: AbortSignal): Promise<void> {
    if (signal.aborted) return;
    await new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }));
  }
}
