import assert from 'node:assert/strict';
import { test } from 'node:test';
import { pemBlocks, pemText } from './pem.ts';

test('a block is broken into lines of 64 letters and read again', () => {
  const block = { label: 'CERTIFICATE', der: Uint8Array.from({ length: 100 }, (_, index) => index) };
  const text = pemText(block);
  assert.deepEqual(
    text.split('\n').map(({ length }) => length),
    [27, 64, 64, 8, 25, 0],
  );
  assert.deepEqual(pemBlocks(text), [block]);
});

test('blocks come in their order, without what stands between them', () => {
  const [one, two] = [
    { label: 'A', der: Uint8Array.of(1) },
    { label: 'B KEY', der: Uint8Array.of(2) },
  ];
  const text = `subject=CN-----\r\n${pemText(one).replaceAll('\n', '\r\n')}# two\n${pemText(two)}`;
  assert.deepEqual(pemBlocks(text), [one, two]);
});

test('headers of a block are skipped', () => {
  const block = { label: 'CERTIFICATE', der: Uint8Array.of(1, 2, 3) };
  for (const newline of ['\n', '\r\n']) {
    const headers = ['Proc-Type: 4,ENCRYPTED', 'DEK-Info: x', '', ''].join(newline);
    const text = pemText(block).replaceAll('\n', newline).replace('AQID', `${headers}AQID`);
    assert.deepEqual(pemBlocks(text), [block]);
  }
});

test('a long text without an end is searched in linear time', () => {
  const begin = '-----BEGIN A-----\n';
  const texts = [begin, `${begin}x:y\n`, '-----BEGIN A:-----\n', 'x:-----BEGIN A-----\n'].map((each) =>
    each.repeat(50_000),
  );
  for (const text of [...texts, `${begin}${'\n'.repeat(1_000_000)}`, `${begin}${'x:y\n'.repeat(250_000)}`]) {
    assert.deepEqual(pemBlocks(text), []);
  }
});

test('a text without blocks has none, nor has one that is cut', () => {
  for (const text of ['', 'x', pemText({ label: 'A', der: Uint8Array.of(1) }).slice(0, -5)]) {
    assert.deepEqual(pemBlocks(text), []);
  }
});
