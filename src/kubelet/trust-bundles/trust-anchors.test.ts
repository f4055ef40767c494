import assert from 'node:assert/strict';
import { test } from 'node:test';
import { pemBlocks, pemText } from '../../base/pem.ts';
import { normalizeTrustAnchors } from './trust-anchors.ts';

const anchor = (value: number): string => pemText({ label: 'CERTIFICATE', der: Uint8Array.of(value) });
const salt = Uint8Array.of(1);

const cases: Readonly<Record<string, { readonly bundles: readonly string[]; readonly anchors: readonly number[] }>> = {
  'no bundle': { bundles: [], anchors: [] },
  'an empty bundle': { bundles: [''], anchors: [] },
  'one certificate': { bundles: [anchor(1)], anchors: [1] },
  'duplicates in and between bundles': {
    bundles: [`${anchor(1)}${anchor(2)}${anchor(1)}`, anchor(2)],
    anchors: [1, 2],
  },
  'text around certificates': { bundles: [`# one\n${anchor(1)}\n\n# two\n${anchor(2)}# end`], anchors: [1, 2] },
};

for (const [name, { bundles, anchors }] of Object.entries(cases)) {
  test(`normalizeTrustAnchors() of ${name}`, () => {
    const text = normalizeTrustAnchors(bundles, salt);
    const blocks = pemBlocks(text);
    assert.equal(text, blocks.map(pemText).join(''));
    assert.deepEqual(blocks.map(({ der }) => der[0]).toSorted(), anchors);
  });
}

test('the order depends on the salt only', () => {
  const all = Array.from({ length: 8 }, (_, index) => anchor(index));
  const one = normalizeTrustAnchors(all, salt);
  assert.equal(normalizeTrustAnchors(all.toReversed(), salt), one);
  assert.notEqual(normalizeTrustAnchors(all, Uint8Array.of(2)), one);
});
