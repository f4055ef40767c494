import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { type OtlpCollector, startCollector } from '../../../test/traces/otlp-collector.ts';
import { traceWork } from '../../base/trace-work.ts';
import { linuxClock } from '../../host/linux/process/linux-clock.ts';
import { openTracer } from './open-tracer.ts';
import { startTracing, type Tracing } from './start-tracing.ts';

/** The bound of the spans that wait for export, and of one request. */
const QUEUE = 2048;
const BATCH = 512;

interface Opened {
  readonly collector: OtlpCollector;
  readonly tracing: Tracing;
  readonly logged: string[];
}

/** `deadline` limits the export of the last spans. */
async function open(t: TestContext, deadline = linuxClock.deadline): Promise<Opened> {
  const collector = await startCollector();
  t.after(() => collector.close());
  const logged: string[] = [];
  const log = (message: string): void => void logged.push(message);
  const { endpoint } = collector;
  const settings = {
    endpoint,
    samplingRatePerMillion: 1_000_000,
    resource: { 'service.name': 'test' },
    scope: 'nodelet',
  };
  const tracing = openTracer(settings, { clock: { ...linuxClock, deadline }, log: { warn: log, info: log } });
  return { collector, tracing, logged };
}

const work = (name: string): Promise<unknown> =>
  traceWork(
    () => ({
      name,
      kind: 'server',
      subject: name,
      facts: { text: 'a', whole: 2, part: 0.5, is: true, list: ['x', 'y'] },
    }),
    async () => 1,
  );

test('openTracer() exports what is left at the end', async (t) => {
  const { collector, tracing, logged } = await open(t);
  await work('first');
  await tracing[Symbol.asyncDispose]();
  const [{ traceId, spanId, startNs, endNs, ...span } = assert.fail('no span')] = collector.spans;
  assert.deepEqual(span, {
    parentId: '',
    name: 'first',
    kind: 'server',
    service: 'test',
    attributes: { text: 'a', whole: 2, part: 0.5, is: true, list: ['x', 'y'] },
    links: [],
    error: undefined,
    resource: { 'service.name': 'test' },
    scope: 'nodelet',
  });
  assert.match(`${traceId} ${spanId}`, /^[0-9a-f]{32} [0-9a-f]{16}$/);
  assert.ok(startNs <= endNs && startNs > 10n ** 18n);
  assert.deepEqual(logged, []);
});

test('openTracer() keeps a bounded number of spans for a collector that hangs', async (t) => {
  const { collector, tracing } = await open(t);
  collector.hang(true);
  for (let count = 0; count < 3 * QUEUE; count++) await work('span');
  collector.hang(false);
  await tracing[Symbol.asyncDispose]();
  assert.ok(collector.spans.length <= QUEUE + BATCH, `${collector.spans.length} spans`);
});

test('disposing a tracer does not wait for a collector that hangs', async (t) => {
  const over = AbortSignal.abort();
  const { collector, tracing } = await open(t, () => over);
  collector.hang(true);
  await work('span');
  await tracing[Symbol.asyncDispose]();
  assert.deepEqual(collector.spans, []);
});

test('a collector that is away is logged once, and disposing ends', async (t) => {
  const { collector, tracing, logged } = await open(t);
  collector.close();
  for (let count = 0; count < 3 * BATCH; count++) await work('span');
  await tracing[Symbol.asyncDispose]();
  assert.deepEqual(logged, ['cannot export spans to the collector']);
});

test('startTracing() does nothing without settings', async () => {
  await using _ = await startTracing(undefined, { clock: linuxClock, log: { warn: assert.fail, info: assert.fail } });
  let isDescribed = false;
  const describe = () => {
    isDescribed = true;
    return { name: 'span', subject: 'span' };
  };
  await traceWork(describe, async () => 1);
  assert.equal(isDescribed, false);
});
