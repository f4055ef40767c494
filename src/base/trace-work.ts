import { channel, tracingChannel } from 'node:diagnostics_channel';

/**
 * Where the program says what it works on, for a tracer (`src/observability/tracing`).
 *
 * 1. Without a tracer nothing is described, allocated or stored: each function costs a test of a flag.
 * 2. Work belongs to the work around it, along calls and promises. Work with a `subject` belongs only to work of the same
 *    subject, and else begins a trace.
 * 3. Work that has ended has no children: what it left running belongs to no trace.
 * 4. Results and errors are passed on unchanged.
 */
export interface Work {
  /** The span's name. */
  readonly name: string;
  /** What it is about, such as the UID of a pod. */
  readonly subject?: string;
  /** The part of the program, where kubelet names it. */
  readonly scope?: string;
  /** Absent: work inside of the process, which belongs to a trace or is not shown. Others may begin a trace. */
  readonly kind?: 'client' | 'server' | undefined;
  /** A W3C `traceparent` that the new trace of this work refers to, without being part of it. */
  readonly link?: string | undefined;
  readonly facts?: WorkFacts;
  /** The result of work that has succeeded. The tracer of Node.js sets it. */
  readonly result?: unknown;
  readonly error?: unknown;
  /** What the result adds. With `error.type`, the work has failed. */
  factsOf?(result: unknown): WorkFacts;
}

/** Attributes of a span. Absent values are left out. */
export type WorkFacts = Readonly<Record<string, string | number | boolean | readonly string[] | undefined>>;

export const WORK_CHANNEL = 'nodelet.work';
export const SYNC_WORK_CHANNEL = 'nodelet.work.sync';
/** Message: a `TraceCarrier` to fill. */
export const OUTGOING_TRACE_CHANNEL = 'nodelet.trace.outgoing';
/** Message: the `TraceCarrier` of a caller in another process. */
export const INCOMING_TRACE_CHANNEL = 'nodelet.trace.incoming';

/** The W3C header that carries a trace between processes. */
export interface TraceCarrier {
  traceparent?: string | undefined;
}

const work = tracingChannel<object>(WORK_CHANNEL);
const syncWork = tracingChannel<object>(SYNC_WORK_CHANNEL);
const outgoing = channel(OUTGOING_TRACE_CHANNEL);
const incoming = channel(INCOMING_TRACE_CHANNEL);

/** Runs `run` as a piece of work. */
export function traceWork<T>(describe: () => Work, run: () => Promise<T>): Promise<T> {
  return work.hasSubscribers ? work.tracePromise(run, describe()) : run();
}

/** The same for work that is done when `run` returns. */
export function traceSyncWork<T>(describe: () => Work, run: () => T): T {
  return syncWork.hasSubscribers ? syncWork.traceSync(run, describe()) : run();
}

/** The `traceparent` that a request to another process carries; `undefined` outside of any trace. */
export function outgoingTraceparent(): string | undefined {
  if (!outgoing.hasSubscribers) return undefined;
  const carrier: TraceCarrier = {};
  outgoing.publish(carrier);
  return carrier.traceparent;
}

/** Runs the handler of a request as part of its caller's trace. */
export function continueTrace<T>(traceparent: () => string | undefined, handle: () => T): T {
  if (!incoming.hasSubscribers) return handle();
  const carrier: TraceCarrier = { traceparent: traceparent() };
  return incoming.runStores(carrier, handle);
}
