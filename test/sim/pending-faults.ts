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

/** The longest deadline of a call. */
const LONGEST_RPC_MS = 125_000;

/** Faults that wait for the call or the event that they affect. */
export class PendingFaults {
  readonly #waiting = new Map<string, unknown[]>();
  readonly #onMachine: (ms: number) => void;
  isDiskFull = false;
  isRuntimeDown = false;
  /** Until then list calls fail. */
  listsFailUntilMs = 0;
  lostEvents = 0;
  /** A pull succeeded but was reported as failed: the agent, like kubelet, treats the image as preloaded. */
  hasLostPull = false;
  readonly delayedEvents: number[] = [];
  /** The current degradation of the API server, if any. */
  apiDegradation: Extract<ClusterFault, { kind: 'apiBusy' | 'apiSlow' }> | undefined;
  /** How writes of events fail at the moment, if they do. */
  eventsDown: Extract<ClusterFault, { kind: 'eventsDown' }> | undefined;
  #apiCalls = 0;

  /** `onMachine` receives the longest duration of each fault that keeps the agent from reading its machine. */
  constructor(onMachine: (ms: number) => void) {
    this.#onMachine = onMachine;
  }

  addRpc(method: CriMethod, fault: RpcFault): void {
    this.#add(`rpc ${method}`, fault);
  }

  /** The next such operation of a host port fails. */
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
      return this.eventsDown.how === 'hangs'
        ? { kind: 'hang' }
        : { kind: 'before', error: simulatedError('InternalError') };
    }
    const waiting = this.#waiting.get(`api ${verb}`)?.shift() as ApiFault | undefined; // only addApi puts them there
    return waiting ?? this.#fromDegradation();
  }

  #fromDegradation(): ApiFault | undefined {
    const degradation = this.apiDegradation;
    if (degradation?.kind === 'apiSlow') return { kind: 'delay', ms: degradation.callMs };
    if (!degradation || ++this.#apiCalls % degradation.every !== 0) return undefined;
    return { kind: 'before', error: simulatedError(degradation.reason, degradation.retryAfterMs) };
  }

  /** Drops all pending faults. */
  clear(): void {
    this.#waiting.clear();
    this.isDiskFull = false;
    this.isRuntimeDown = false;
    this.listsFailUntilMs = 0;
    this.lostEvents = 0;
    this.delayedEvents.length = 0;
    this.apiDegradation = undefined;
    this.eventsDown = undefined;
  }

  #add(key: string, fault: unknown): void {
    const queue = this.#waiting.get(key) ?? [];
    queue.push(fault);
    this.#waiting.set(key, queue);
  }
}

export function simulatedError(reason: ApiErrorReason, retryAfterMs?: number): ApiError {
  return new ApiError(reason, 'simulated', retryAfterMs === undefined ? {} : { retryAfterMs });
}
