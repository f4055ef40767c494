import type { CriMethod } from '../../src/cri/services.ts';
import type { FileOperation } from '../../src/host/fake/memory-file-system.ts';
import { ApiError, type ApiErrorReason } from '../../src/kubelet/api-client/api-server.ts';
import type { ApiFault, ApiRequest, ApiVerb } from '../../src/kubelet/api-client/fake/api-faults.ts';
import type { ClusterFault } from './plan-cluster.ts';
import type { RpcFault } from './plan-faults.ts';

const NEEDS_SPACE: ReadonlySet<string> = new Set<FileOperation>([
  'writeFile',
  'appendFile',
  'writeAtomic',
  'makeDirectory',
  'symbolicLink',
]);

/** Until its deadline. */
const LONGEST_RPC_MS = 125_000;

/** Misfortunes that wait for the call, or the event, that they hit. */
export class FaultBox {
  readonly #waiting = new Map<string, unknown[]>();
  readonly #onMachine: (ms: number) => void;
  isDiskFull = false;
  isRuntimeDown = false;
  /** Until then nothing can be listed. */
  blindUntilMs = 0;
  lostEvents = 0;
  /** An image was pulled, and the agent was told that it was not: for it, as for kubelet, it was there before. */
  hasLostPull = false;
  readonly delayedEvents: number[] = [];
  /** How the API server answers at the moment, when it is not well. */
  apiMood: Extract<ClusterFault, { kind: 'apiBusy' | 'apiSlow' }> | undefined;
  /** What becomes of events at the moment, when they cannot be written. */
  eventsDown: Extract<ClusterFault, { kind: 'eventsDown' }> | undefined;
  #apiCalls = 0;

  /** `onMachine` is told of what keeps the agent from looking at its machine, and for how long at most. */
  constructor(onMachine: (ms: number) => void) {
    this.#onMachine = onMachine;
  }

  addRpc(method: CriMethod, fault: RpcFault): void {
    this.#add(`rpc ${method}`, fault);
  }

  /** The next such operation of a port of the host fails. */
  addHost(operation: string, code: string): void {
    this.#add(`host ${operation}`, code);
  }

  takeRpc(method: CriMethod): RpcFault | undefined {
    if (this.isRuntimeDown) return { kind: 'before', code: 'Unavailable', delayMs: 0 };
    const fault = this.#waiting.get(`rpc ${method}`)?.shift() as RpcFault | undefined; // only addRpc puts them there
    if (fault) this.#onMachine(method === 'version' ? LONGEST_RPC_MS : 0);
    return fault;
  }

  takeHost(operation: string): string | undefined {
    if (this.isDiskFull && NEEDS_SPACE.has(operation)) return 'ENOSPC';
    const code = this.#waiting.get(`host ${operation}`)?.shift() as string | undefined; // only addHost puts them there
    if (code !== undefined) this.#onMachine(0);
    return code;
  }

  addApi(verb: ApiVerb, fault: ApiFault): void {
    this.#add(`api ${verb}`, fault);
  }

  takeApi(verb: ApiVerb, { resource }: ApiRequest): ApiFault | undefined {
    if (resource === 'events' && this.eventsDown) {
      return this.eventsDown.how === 'hangs' ? { kind: 'hang' } : { kind: 'before', error: refusal('InternalError') };
    }
    const waiting = this.#waiting.get(`api ${verb}`)?.shift() as ApiFault | undefined; // only addApi puts them there
    return waiting ?? this.#ofMood();
  }

  #ofMood(): ApiFault | undefined {
    const mood = this.apiMood;
    if (mood?.kind === 'apiSlow') return { kind: 'delay', ms: mood.callMs };
    if (!mood || ++this.#apiCalls % mood.every !== 0) return undefined;
    return { kind: 'before', error: refusal(mood.reason, mood.retryAfterMs) };
  }

  /** What has not struck yet never will. */
  clear(): void {
    this.#waiting.clear();
    this.isDiskFull = false;
    this.isRuntimeDown = false;
    this.blindUntilMs = 0;
    this.lostEvents = 0;
    this.delayedEvents.length = 0;
    this.apiMood = undefined;
    this.eventsDown = undefined;
  }

  #add(key: string, fault: unknown): void {
    const queue = this.#waiting.get(key) ?? [];
    queue.push(fault);
    this.#waiting.set(key, queue);
  }
}

export function refusal(reason: ApiErrorReason, retryAfterMs?: number): ApiError {
  return new ApiError(reason, 'simulated', retryAfterMs === undefined ? {} : { retryAfterMs });
}
