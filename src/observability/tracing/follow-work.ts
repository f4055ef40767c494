import { AsyncLocalStorage } from 'node:async_hooks';
import { channel, tracingChannel } from 'node:diagnostics_channel';
import {
  type Attributes,
  type Context,
  ROOT_CONTEXT,
  type Span,
  type SpanContext,
  SpanKind,
  SpanStatusCode,
  type Tracer,
  trace,
} from '@opentelemetry/api';
import { errorText } from '../../base/error-text.ts';
import {
  INCOMING_TRACE_CHANNEL,
  OUTGOING_TRACE_CHANNEL,
  SYNC_WORK_CHANNEL,
  type TraceCarrier,
  WORK_CHANNEL,
  type Work,
  type WorkFacts,
} from '../../base/trace-work.ts';
import { RPC_CHANNEL, type RpcTrace } from '../../cri/instrument.ts';
import { isRpcFailure, rpcOutcome, rpcWork } from './rpc-span.ts';
import type { SpanClock } from './span-clock.ts';
import { formatTraceparent, parseTraceparent } from './traceparent.ts';

/** What new work can belong to. */
interface Surroundings {
  readonly context: SpanContext;
  readonly subject: string | undefined;
  /** `undefined`: in another process, or ended. */
  span: Span | undefined;
  /** What is added to the monotonic clock: the spans of one trace in this process are on one clock. */
  readonly epochMs: number;
  hasEnded: boolean;
}

export interface FollowDeps {
  /** By instrumentation scope. */
  tracer(scope: string): Tracer;
  readonly clock: SpanClock;
  /** Of work that names none. */
  readonly scope: string;
}

/**
 * Turns the work of the program and the calls to the runtime into spans. Returns the function that stops it.
 *
 * 1. The context of a span is stored while its work runs, by Node.js: no code passes it on.
 * 2. A context outlives its span in what the work left running: `hasEnded` keeps it from having children.
 * 3. A span that is not sampled is followed too: its children, also those in other processes, are not sampled either.
 */
export function followWork(deps: FollowDeps): () => void {
  const surroundings = new AsyncLocalStorage<Surroundings | undefined>();
  const open = new WeakMap<object, Surroundings>();

  const begin = (message: object): Surroundings | undefined => {
    const begun = startSpan(workOf(message), surroundings.getStore(), deps);
    if (begun) open.set(message, begun);
    return begun ?? surroundings.getStore();
  };
  const end = (message: object): void => {
    const ended = open.get(message);
    if (ended === undefined || ended.hasEnded) return;
    ended.hasEnded = true;
    const { span } = ended;
    ended.span = undefined; // what the work left running still refers to `ended`
    if (span) endSpan(span, message, deps.clock.nowMs(ended.epochMs));
  };

  const stops = [
    subscribe(WORK_CHANNEL, { error: end, asyncEnd: end }),
    subscribe(RPC_CHANNEL, { error: end, asyncEnd: end }),
    subscribe(SYNC_WORK_CHANNEL, { error: end, end }),
  ];
  const starts = [WORK_CHANNEL, RPC_CHANNEL, SYNC_WORK_CHANNEL].map(
    (name) => tracingChannel<object, Surroundings | undefined>(name).start,
  );
  for (const start of starts) start.bindStore(surroundings, begin);
  const incoming = channel<TraceCarrier, Surroundings | undefined>(INCOMING_TRACE_CHANNEL);
  incoming.bindStore(surroundings, callerOf);
  const outgoing = channel(OUTGOING_TRACE_CHANNEL);
  const inject = (carrier: unknown): void => {
    const current = surroundings.getStore();
    if (current && !current.hasEnded)
      Object.assign(carrier as TraceCarrier, { traceparent: formatTraceparent(current.context) });
  };
  outgoing.subscribe(inject);
  return () => {
    for (const stop of stops) stop();
    for (const start of starts) start.unbindStore(surroundings);
    incoming.unbindStore(surroundings);
    outgoing.unsubscribe(inject);
  };
}

function subscribe(
  name: string,
  subscribers: Partial<Record<'error' | 'end' | 'asyncEnd', (message: object) => void>>,
) {
  const traced = tracingChannel<object>(name);
  traced.subscribe(subscribers);
  return () => void traced.unsubscribe(subscribers);
}

function startSpan(work: Work, around: Surroundings | undefined, deps: FollowDeps): Surroundings | undefined {
  const parent = parentOf(work, around);
  if (parent === undefined && work.kind === undefined && work.subject === undefined) return undefined;
  const link = parseTraceparent(work.link);
  const parentContext: Context = parent ? trace.setSpanContext(ROOT_CONTEXT, parent.context) : ROOT_CONTEXT;
  const epochMs = parent?.span ? parent.epochMs : deps.clock.epochMs();
  const options = {
    startTime: deps.clock.nowMs(epochMs),
    kind: SPAN_KINDS[work.kind ?? 'internal'],
    attributes: attributesOf(work.facts ?? {}),
    ...(link && { links: [{ context: link }] }),
  };
  const span = deps.tracer(work.scope ?? deps.scope).startSpan(work.name, options, parentContext);
  return { context: span.spanContext(), subject: work.subject ?? parent?.subject, span, epochMs, hasEnded: false };
}

const SPAN_KINDS = { client: SpanKind.CLIENT, server: SpanKind.SERVER, internal: SpanKind.INTERNAL } as const;

function parentOf({ subject }: Work, around: Surroundings | undefined): Surroundings | undefined {
  if (around === undefined || around.hasEnded) return undefined;
  return subject === undefined || subject === around.subject ? around : undefined;
}

function callerOf({ traceparent }: TraceCarrier): Surroundings | undefined {
  const context = parseTraceparent(traceparent);
  return context && { context, subject: undefined, span: undefined, epochMs: 0, hasEnded: false };
}

/** Messages of work have a name; the others are calls to the runtime. */
function workOf(message: object): Work {
  return isWork(message) ? message : rpcWork(message as RpcTrace);
}

function isWork(message: object): message is Work {
  return 'name' in message;
}

function endSpan(span: Span, message: object, endMs: number): void {
  const failure = 'error' in message ? { error: message.error } : undefined;
  if (failure && (isWork(message) || isRpcFailure(message as RpcTrace))) {
    const { error } = failure;
    if (error instanceof Error) span.recordException(error, endMs);
    span.setStatus({ code: SpanStatusCode.ERROR, message: errorText(error) });
  }
  const facts = outcomeOf(message);
  if (facts['error.type'] !== undefined) span.setStatus({ code: SpanStatusCode.ERROR });
  span.setAttributes(attributesOf(facts));
  span.end(endMs);
}

function outcomeOf(message: object): WorkFacts {
  if (!isWork(message)) return rpcOutcome(message as RpcTrace);
  return 'error' in message ? {} : (message.factsOf?.(message.result) ?? {});
}

function attributesOf(facts: WorkFacts): Attributes {
  const attributes: Attributes = {};
  for (const [name, value] of Object.entries(facts)) {
    if (value !== undefined) attributes[name] = typeof value === 'object' ? [...value] : value;
  }
  return attributes;
}
