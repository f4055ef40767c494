import { tracingChannel } from 'node:diagnostics_channel';
import { posix } from 'node:path';
import type { Labels, Metric } from '../../base/metrics/metric-registry.ts';
import { RPC_CHANNEL, type RpcTrace } from '../../cri/instrument.ts';
import type { Clock } from '../../host/clock.ts';
import type { ImagePuller } from '../images/image-puller.ts';
import type { PodNetwork } from '../network/pod-network.ts';
import type { ContainerRecord } from '../store/container-record.ts';
import type { RecordStore } from '../store/record-store.ts';
import type { SandboxRecord } from '../store/sandbox-record.ts';
import { CallTimers } from './call-timers.ts';
import { timedNetwork } from './timed-network.ts';
import { timedPuller } from './timed-puller.ts';

export interface RuntimeRecords {
  readonly sandboxes: Pick<RecordStore<SandboxRecord>, 'find'>;
  readonly containers: Pick<RecordStore<ContainerRecord>, 'find'>;
}

/** The start of a call, with what is known of its object before the call may remove it. */
interface BegunCall {
  readonly startedMs: number;
  readonly labels: Labels;
}

/**
 * Metrics of the runtime, under containerd's names: the duration of calls and of network plugins, and image pulls. A runtime
 * without it measures nothing.
 */
export class RuntimeMetrics {
  readonly #clock: Pick<Clock, 'monotonic'>;
  readonly #timers = new CallTimers();
  readonly #calls = new WeakMap<object, BegunCall>();
  #records: RuntimeRecords | undefined;

  constructor(clock: Pick<Clock, 'monotonic'>) {
    this.#clock = clock;
  }

  /** Names the OCI runtime of a call by the record of its object. */
  setRecords(records: RuntimeRecords): void {
    this.#records = records;
  }

  /** The same network, whose plugins are timed. */
  network(network: PodNetwork): PodNetwork {
    return timedNetwork(network, this.#timers, this.#clock);
  }

  /** The same puller, whose pulls are counted. */
  puller(puller: ImagePuller): ImagePuller {
    return timedPuller(puller, this.#timers, this.#clock);
  }

  /** Times the calls of instrumented services. Returns the function that stops it. */
  observeCalls(): () => void {
    const channel = tracingChannel<object>(RPC_CHANNEL);
    const subscribers = {
      start: (trace: object) => this.#start(trace),
      asyncEnd: (trace: object) => this.#end(trace),
    };
    channel.subscribe(subscribers);
    return () => channel.unsubscribe(subscribers);
  }

  collect(): Promise<readonly Metric[]> {
    return this.#timers.registry.collect();
  }

  #start(trace: object): void {
    if (!isTrace(trace) || !this.#timers.isTimed(trace.method)) return;
    this.#calls.set(trace, { startedMs: this.#clock.monotonic(), labels: this.#labelsOf(trace.request) });
  }

  /** As in containerd, failed calls are not timed. */
  #end(trace: object): void {
    const call = this.#calls.get(trace);
    if (!call || !isTrace(trace) || trace.error !== undefined) return;
    const created = textField(trace.result, 'podSandboxId');
    const labels = created === undefined ? call.labels : this.#labelsOf(trace.result);
    this.#timers.observe(trace.method, this.#clock.monotonic() - call.startedMs, { labels, sandboxId: created });
  }

  #labelsOf(message: unknown): Labels {
    const containerId = textField(message, 'containerId');
    const ofContainer = containerId === undefined ? undefined : this.#records?.containers.find(containerId)?.sandboxId;
    const sandboxId = ofContainer ?? textField(message, 'podSandboxId');
    const sandbox = sandboxId === undefined ? undefined : this.#records?.sandboxes.find(sandboxId);
    return { runtime: posix.basename(sandbox?.oci?.program ?? '') };
  }
}

function isTrace(trace: object): trace is RpcTrace {
  return 'method' in trace && 'request' in trace;
}

function textField(message: unknown, name: string): string | undefined {
  if (typeof message !== 'object' || message === null) return undefined;
  const value: unknown = new Map(Object.entries(message)).get(name);
  return typeof value === 'string' && value !== '' ? value : undefined;
}
