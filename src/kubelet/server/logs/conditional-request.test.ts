import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseTime } from '../../../base/rfc3339.ts';
import { type ByteRange, byteRange, type Condition, conditionOf } from './conditional-request.ts';
import { formatHttpDate, parseHttpDate } from './http-date.ts';

const MODIFIED = parseTime('2026-11-18T19:45:56.700Z');
const SAME = 'Wed, 18 Nov 2026 19:45:56 GMT';
const EARLIER = 'Wed, 18 Nov 2026 19:45:55 GMT';
const WHOLE: Condition = { kind: 'content', range: '' };

const CONDITIONS: readonly (readonly [headers: Record<string, string>, condition: Condition])[] = [
  [{}, WHOLE],
  [{ 'if-modified-since': SAME }, { kind: 'notModified' }],
  [{ 'if-modified-since': EARLIER }, WHOLE],
  [{ 'if-modified-since': 'yesterday' }, WHOLE],
  [{ 'if-unmodified-since': SAME }, WHOLE],
  [{ 'if-unmodified-since': EARLIER }, { kind: 'failed' }],
  [{ 'if-match': '*' }, WHOLE],
  [{ 'if-match': '"a"' }, { kind: 'failed' }],
  [{ 'if-match': '*', 'if-unmodified-since': EARLIER }, WHOLE],
  [{ 'if-none-match': '*' }, { kind: 'notModified' }],
  [{ 'if-none-match': '"a"', 'if-modified-since': SAME }, WHOLE],
  [{ range: 'bytes=1-2' }, { kind: 'content', range: 'bytes=1-2' }],
  [
    { range: 'bytes=1-2', 'if-range': SAME },
    { kind: 'content', range: 'bytes=1-2' },
  ],
  [{ range: 'bytes=1-2', 'if-range': EARLIER }, WHOLE],
];

for (const [headers, condition] of CONDITIONS) {
  test(`conditionOf(): ${JSON.stringify(headers)}`, () => {
    assert.deepEqual(conditionOf(headers, MODIFIED), condition);
  });
}

const INVALID: ByteRange = { kind: 'invalid', isBeyond: false };
const BEYOND: ByteRange = { kind: 'invalid', isBeyond: true };
const RANGES: readonly (readonly [header: string, size: number, range: ByteRange])[] = [
  ['', 4, { kind: 'whole' }],
  ['bytes=1-2', 4, { kind: 'part', start: 1, length: 2 }],
  ['bytes=1-', 4, { kind: 'part', start: 1, length: 3 }],
  ['bytes=1-99', 4, { kind: 'part', start: 1, length: 3 }],
  ['bytes=-1', 4, { kind: 'part', start: 3, length: 1 }],
  ['bytes=-99', 4, { kind: 'part', start: 0, length: 4 }],
  ['bytes=0-0,2-2', 4, { kind: 'whole' }],
  ['bytes=0-0,9-9', 4, { kind: 'part', start: 0, length: 1 }],
  ['bytes=4-', 4, BEYOND],
  ['bytes=0-', 0, { kind: 'whole' }],
  ['bytes=2-1', 4, INVALID],
  ['bytes=x', 4, INVALID],
  ['bytes=-', 4, INVALID],
  ['lines=1-2', 4, INVALID],
];

for (const [header, size, range] of RANGES) {
  test(`byteRange(): "${header}" of ${size} bytes`, () => assert.deepEqual(byteRange(header, size), range));
}

test('dates of HTTP are written and read', () => {
  const dates = [
    [0, 'Thu, 01 Jan 1970 00:00:00 GMT'],
    [MODIFIED, SAME],
    [parseTime('2028-02-29T00:00:00Z'), 'Tue, 29 Feb 2028 00:00:00 GMT'],
  ] as const;
  for (const [ms, text] of dates) {
    assert.equal(formatHttpDate(ms), text);
    assert.equal(parseHttpDate(text), Math.floor(ms / 1000) * 1000);
  }
  for (const text of ['', 'x', 'Wed, 18 Foo 2026 19:45:56 GMT', 'Wed, 32 Nov 2026 19:45:56 GMT'])
    assert.equal(parseHttpDate(text), undefined);
});
