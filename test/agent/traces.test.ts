/** What a tracer sees of the whole agent, on virtual time with an in-memory runtime. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { InMemorySpanExporter, SimpleSpanProcessor } from '@opentelemetry/sdk-trace';
import { traceWith } from '../../src/observability/tracing/open-tracer.ts';
import { drawTraces } from '../traces/trace-tree.ts';
import { podOf, startAgent } from './memory-agent.ts';

test('x', async () => {
  const exporter = new InMemorySpanExporter();
  await using _t = traceWith(new SimpleSpanProcessor({ exporter }), { samplingRatePerMillion: 1_000_000, scope: 'nodelet' });
  await using it = await startAgent();
  it.source.set(podOf('web'));
  await it.host.clock.advance(0);
  const spans = exporter.getFinishedSpans().map((span) => ({
    traceId: span.spanContext().traceId, spanId: span.spanContext().spanId, parentId: span.parentSpanContext?.spanId ?? '',
    name: span.name, kind: String(span.kind), service: 'kubelet', startNs: BigInt(span.startTime[0]) * 1000000000n + BigInt(span.startTime[1]),
    endNs: BigInt(span.endTime[0]) * 1000000000n + BigInt(span.endTime[1]), attributes: span.attributes, error: span.status.message,
  }));
  console.log(drawTraces(spans, (s) => ` ${JSON.stringify(s.attributes)} ${s.error ?? ''}`).join('\n'));
  assert.ok(true);
});
