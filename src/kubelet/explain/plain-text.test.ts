import assert from 'node:assert/strict';
import { test } from 'node:test';
import { agoText, inText, listText, quoted, sentence, shortened, durationText, timesText } from './plain-text.ts';
import { unwrapError } from './error-texts.ts';

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

test('moments are told from now, in whole seconds', () => {
  assert.deepEqual(
    [agoText(0, 900), agoText(0, 2600), inText(400, 0), inText(900, 0), inText(2600, 0)],
    ['just now', '3 s ago', 'now', 'in 900 ms', 'in 3 s'],
  );
});

test('counts and lists read as one says them', () => {
  assert.deepEqual([1, 2, 3].map(timesText), ['once', 'twice', '3 times']);
  assert.deepEqual([listText([]), listText(['a']), listText(['a', 'b', 'c'])], ['', 'a', 'a, b and c']);
});

test('errors lose the prefix of gRPC wherever it stands, and their line feeds', () => {
  const text = 'cannot pull: rpc error: code = NotFound desc = rpc error: code = Unknown desc = no\n such image\n';
  assert.equal(unwrapError(text), 'cannot pull: no such image');
});

test('a sentence has one full stop, a quote has its limit', () => {
  assert.equal(sentence('container web ended.  '), 'Container web ended.');
  assert.equal(quoted('x'.repeat(1000)).length, 302);
});

test('what is too long loses its middle', () => assert.equal(shortened('0123456789', 6), '01…789'));

test('errorText() says of a volume what is wrong with it', () => {
  const told = 'MountVolume.SetUp failed for volume "conf" : configmap "settings" not found';
  assert.equal(unwrapError(told), 'volume "conf": configmap "settings" not found');
});

const unwrapped: Record<string, string> = {
  'Failed to pull image "web:2": failed to pull and unpack image "web:2": failed to resolve reference "web:2": web:2: not found':
    'web:2: not found',
  'Back-off pulling image "web:2": ErrImagePull: no such host': 'no such host',
  'Back-off pulling image "web:2"': 'Back-off pulling image "web:2"',
  [`Exec lifecycle hook ([sh -c "a"]) for Container "c" in Pod "p_ns(u)" failed - error: command 'sh' exited with 9: no\n, message: "no\\n"`]:
    "command 'sh' exited with 9: no",
  [`Exec lifecycle hook ([sh]) for Container "c" in Pod "p_ns(u)" failed - error: command 'sh' exited with 8: , message: ""`]:
    "command 'sh' exited with 8",
};

for (const [error, text] of Object.entries(unwrapped)) {
  test(`errorText() unwraps ${JSON.stringify(error)}`, () => assert.equal(unwrapError(error), text));
}
