import { SpanKind } from '@opentelemetry/api';
import { InMemorySpanExporter, type ReadableSpan, SimpleSpanProcessor } from '@opentelemetry/sdk-trace';
import { linuxClock } from '../../src/host/linux/process/linux-clock.ts';
import { traceWith } from '../../src/observability/tracing/open-tracer.ts';
import type { TestSpan } from './trace-tree.ts';

/** Follows the work of this process until it is disposed. */
export interface MemorySpans extends AsyncDisposable {
  /** The spans that have ended. */
  all(): TestSpan[];
}

export function collectSpans(samplingRatePerMillion = 1_000_000): MemorySpans {
  const exporter = new InMemorySpanExporter();
  const tracing = traceWith(
    new SimpleSpanProcessor({ exporter }),
    { samplingRatePerMillion, scope: 'nodelet' },
    linuxClock,
  );
  return {
    all: () => exporter.getFinishedSpans().map(testSpan),
    [Symbol.asyncDispose]: async () => tracing[Symbol.asyncDispose](),
  };
}

function testSpan(span: ReadableSpan): TestSpan {
  const { traceId, spanId } = span.spanContext();
  const { name, kind, status, attributes } = span;
  const nanoseconds = ([seconds, nanos]: readonly [number, number]): bigint =>
    BigInt(seconds) * 10n ** 9n + BigInt(nanos);
  return {
    traceId,
    spanId,
    parentId: span.parentSpanContext?.spanId ?? '',
    name,
    kind: SpanKind[kind].toLowerCase(),
    service: '',
    startNs: nanoseconds(span.startTime),
    endNs: nanoseconds(span.endTime),
    attributes,
    links: span.links.map(({ context }) => context.spanId),
    error: status.code === 2 ? (status.message ?? '') : undefined,
  };
}
