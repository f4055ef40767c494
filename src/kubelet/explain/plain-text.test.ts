import assert from 'node:assert/strict';
import { test } from 'node:test';
import { agoText, durationText, inText, listText, quoted, sentence, shortened, timesText } from './plain-text.ts';

const spans: Record<string, number> = {
  '0 ms': -5,
  '1 ms': 0.6,
  '999 ms': 999.4,
  '1 s': 1000,
  '2.5 s': 2460,
  '10 s': 9960,
  '119 s': 119_400,
  '2 min': 120_000,
  '2 min 5 s': 125_400,
  '119 min 59 s': 7_199_000,
  '3 h 20 min': 12_000_000,
  '2 d 4 h': 187_500_000,
};

for (const [text, ms] of Object.entries(spans))
  test(`spanText(${ms}) is ${text}`, () => assert.equal(durationText(ms), text));

test('times are relative to now, in whole seconds', () => {
  assert.deepEqual(
    [agoText(0, 900), agoText(0, 2600), inText(400, 0), inText(900, 0), inText(2600, 0)],
    ['just now', '3 s ago', 'now', 'in 900 ms', 'in 3 s'],
  );
});

test('counts and lists are words', () => {
  assert.deepEqual([1, 2, 3].map(timesText), ['once', 'twice', '3 times']);
  assert.deepEqual([listText([]), listText(['a']), listText(['a', 'b', 'c'])], ['', 'a', 'a, b and c']);
});

test('a sentence has one full stop, a quote is bounded', () => {
  assert.equal(sentence('container web ended.  '), 'Container web ended.');
  assert.equal(quoted('x'.repeat(1000)).length, 302);
});

test('shortened() cuts out the middle', () => assert.equal(shortened('0123456789', 6), '01…789'));
