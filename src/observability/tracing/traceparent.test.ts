import assert from 'node:assert/strict';
import { test } from 'node:test';
import { formatTraceparent, parseTraceparent } from './traceparent.ts';

const traceId = '0af7651916cd43dd8448eb211c80319c';
const spanId = 'b7ad6b7169203331';
const sampled = { traceId, spanId, traceFlags: 1, isRemote: true };

const cases: Record<string, { readonly text: string | undefined; readonly context: object | undefined }> = {
  'a sampled parent': { text: `00-${traceId}-${spanId}-01`, context: sampled },
  'a parent that is not sampled': { text: `00-${traceId}-${spanId}-00`, context: { ...sampled, traceFlags: 0 } },
  'other flags': { text: `00-${traceId}-${spanId}-03`, context: sampled },
  'a later version with more fields': { text: `01-${traceId}-${spanId}-01-what`, context: sampled },
  'nothing in more fields of version 00': { text: `00-${traceId}-${spanId}-01-what`, context: undefined },
  'nothing in the invalid version': { text: `ff-${traceId}-${spanId}-01`, context: undefined },
  'nothing without a trace': { text: `00-${'0'.repeat(32)}-${spanId}-01`, context: undefined },
  'nothing without a span': { text: `00-${traceId}-${'0'.repeat(16)}-01`, context: undefined },
  'nothing in upper case': { text: `00-${traceId.toUpperCase()}-${spanId}-01`, context: undefined },
  'nothing in other text': { text: 'x', context: undefined },
  'nothing without a header': { text: undefined, context: undefined },
};

for (const [name, { text, context }] of Object.entries(cases)) {
  test(`parseTraceparent() reads ${name}`, () => assert.deepEqual(parseTraceparent(text), context));
}

test('formatTraceparent() writes what parseTraceparent() reads', () => {
  assert.equal(formatTraceparent(sampled), `00-${traceId}-${spanId}-01`);
});
