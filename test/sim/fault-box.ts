import type { CriMethod } from '../../src/cri/services.ts';
import type { FileOperation } from '../../src/host/fake/memory-file-system.ts';
import type { ApiFault, ApiVerb } from '../../src/kubelet/cluster/fake/api-faults.ts';
import type { RpcFault } from './plan-faults.ts';

const NEEDS_SPACE: ReadonlySet<string> = new Set<FileOperation>([
  'writeFile',
  'appendFile',
  'writeAtomic',
  'makeDirectory',
  'symbolicLink',
]);

/** Misfortunes that wait for the call, or the event, that they hit. */
export class FaultBox {
  readonly #waiting = new Map<string, unknown[]>();
  isDiskFull = false;
  isRuntimeDown = false;
  /** Until then nothing can be listed. */
  blindUntilMs = 0;
  lostEvents = 0;
  /** An image was pulled, and the agent was told that it was not: for it, as for kubelet, it was there before. */
  hasLostPull = false;
  readonly delayedEvents: number[] = [];

  addRpc(method: CriMethod, fault: RpcFault): void {
    this.#add(`rpc ${method}`, fault);
  }

  /** The next such operation of a port of the host fails. */
  addHost(operation: string, code: string): void {
    this.#add(`host ${operation}`, code);
  }

  takeRpc(method: CriMethod): RpcFault | undefined {
    if (this.isRuntimeDown) return { kind: 'before', code: 'Unavailable', delayMs: 0 };
    return this.#waiting.get(`rpc ${method}`)?.shift() as RpcFault | undefined; // only addRpc puts them there
  }

  takeHost(operation: string): string | undefined {
    if (this.isDiskFull && NEEDS_SPACE.has(operation)) return 'ENOSPC';
    return this.#waiting.get(`host ${operation}`)?.shift() as string | undefined; // only addHost puts them there
  }

  addApi(verb: ApiVerb, fault: ApiFault): void {
    this.#add(`api ${verb}`, fault);
  }

  takeApi(verb: ApiVerb): ApiFault | undefined {
    return this.#waiting.get(`api ${verb}`)?.shift() as ApiFault | undefined; // only addApi puts them there
  }

  /** What has not struck yet never will. */
  clear(): void {
    this.#waiting.clear();
    this.isDiskFull = false;
    this.isRuntimeDown = false;
    this.blindUntilMs = 0;
    this.lostEvents = 0;
    this.delayedEvents.length = 0;
  }

  #add(key: string, fault: unknown): void {
    const queue = this.#waiting.get(key) ?? [];
    queue.push(fault);
    this.#waiting.set(key, queue);
  }
}
