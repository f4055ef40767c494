import { type Attributes, type HrTime, type SpanContext, SpanKind, SpanStatusCode } from '@opentelemetry/api';
import type { ReadableSpan } from '@opentelemetry/sdk-trace';
import type { ExportTraceServiceRequest } from './generated/otlp-collector-trace-v1.ts';
import type { AnyValue, KeyValue } from './generated/otlp-common-v1.ts';
import { type ScopeSpans, type Span, Span_SpanKind, Status_StatusCode } from './generated/otlp-trace-v1.ts';

const NS_PER_SECOND = 1_000_000_000n;
/** Bits of `flags` above the W3C flags: whether it is known that a parent is remote, and whether it is. */
const HAS_IS_REMOTE = 0x100;
const IS_REMOTE = 0x200;

const KINDS: Readonly<Record<SpanKind, Span_SpanKind>> = {
  [SpanKind.INTERNAL]: Span_SpanKind.SPAN_KIND_INTERNAL,
  [SpanKind.SERVER]: Span_SpanKind.SPAN_KIND_SERVER,
  [SpanKind.CLIENT]: Span_SpanKind.SPAN_KIND_CLIENT,
  [SpanKind.PRODUCER]: Span_SpanKind.SPAN_KIND_PRODUCER,
  [SpanKind.CONSUMER]: Span_SpanKind.SPAN_KIND_CONSUMER,
};

const STATUS_CODES: Readonly<Record<SpanStatusCode, Status_StatusCode>> = {
  [SpanStatusCode.UNSET]: Status_StatusCode.STATUS_CODE_UNSET,
  [SpanStatusCode.OK]: Status_StatusCode.STATUS_CODE_OK,
  [SpanStatusCode.ERROR]: Status_StatusCode.STATUS_CODE_ERROR,
};

/** One OTLP request for spans of one resource. */
export function spansMessage(spans: readonly ReadableSpan[], resource: Attributes): ExportTraceServiceRequest {
  const byScope = Map.groupBy(spans, (span) => span.instrumentationScope);
  const scopeSpans = [...byScope].map(
    ([{ name, version = '' }, ofScope]): ScopeSpans => ({
      scope: { name, version, attributes: [], droppedAttributesCount: 0 },
      spans: ofScope.map(spanMessage),
      schemaUrl: '',
    }),
  );
  const described = { attributes: keyValues(resource), droppedAttributesCount: 0 };
  return { resourceSpans: [{ resource: described, scopeSpans, schemaUrl: '' }] };
}

function spanMessage(span: ReadableSpan): Span {
  const context = span.spanContext();
  const { parentSpanContext: parent, status } = span;
  return {
    traceId: idBytes(context.traceId),
    spanId: idBytes(context.spanId),
    traceState: context.traceState?.serialize() ?? '',
    parentSpanId: idBytes(parent?.spanId ?? ''),
    flags: flagsOf(context.traceFlags, parent),
    name: span.name,
    kind: KINDS[span.kind],
    startTimeUnixNano: nanoseconds(span.startTime),
    endTimeUnixNano: nanoseconds(span.endTime),
    attributes: keyValues(span.attributes),
    droppedAttributesCount: span.droppedAttributesCount,
    events: span.events.map(({ time, name, attributes = {}, droppedAttributesCount = 0 }) => ({
      timeUnixNano: nanoseconds(time),
      name,
      attributes: keyValues(attributes),
      droppedAttributesCount,
    })),
    droppedEventsCount: span.droppedEventsCount,
    links: span.links.map(({ context: linked, attributes = {}, droppedAttributesCount = 0 }) => ({
      traceId: idBytes(linked.traceId),
      spanId: idBytes(linked.spanId),
      traceState: linked.traceState?.serialize() ?? '',
      attributes: keyValues(attributes),
      droppedAttributesCount,
      flags: flagsOf(linked.traceFlags, linked),
    })),
    droppedLinksCount: span.droppedLinksCount,
    status: { message: status.message ?? '', code: STATUS_CODES[status.code] },
  };
}

function flagsOf(traceFlags: number, { isRemote = false }: Pick<SpanContext, 'isRemote'> = {}): number {
  return (traceFlags & 0xff) | HAS_IS_REMOTE | (isRemote ? IS_REMOTE : 0);
}

function idBytes(hex: string): Uint8Array {
  return new Uint8Array(Buffer.from(hex, 'hex'));
}

function nanoseconds([seconds, nanos]: HrTime): bigint {
  return BigInt(seconds) * NS_PER_SECOND + BigInt(Math.round(nanos));
}

function keyValues(attributes: Attributes): KeyValue[] {
  return Object.entries(attributes).flatMap(([key, value]) => {
    const message = anyValue(value);
    return message === undefined ? [] : [{ key, value: message }];
  });
}

/** `undefined` for a value of a type that the spans of this program do not have. */
function anyValue(value: unknown): AnyValue | undefined {
  switch (typeof value) {
    case 'string':
      return { stringValue: value };
    case 'boolean':
      return { boolValue: value };
    case 'number':
      return Number.isInteger(value) ? { intValue: BigInt(value) } : { doubleValue: value };
    default:
      return Array.isArray(value)
        ? { arrayValue: { values: value.flatMap((each) => anyValue(each) ?? []) } }
        : undefined;
  }
}
