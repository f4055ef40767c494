import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ClusterTrustBundle, ClusterTrustBundleProjection } from '../../api/generated/core-v1.ts';
import { bundleSelection } from './bundle-selection.ts';

const BUNDLES: readonly ClusterTrustBundle[] = [
  { metadata: { name: 'plain' }, spec: { trustBundle: '' } },
  { metadata: { name: 'corp:ca:one', labels: { env: 'test' } }, spec: { signerName: 'corp/ca', trustBundle: '' } },
  { metadata: { name: 'corp:ca:two' }, spec: { signerName: 'corp/ca', trustBundle: '' } },
];

const cases: Readonly<Record<string, { source: Partial<ClusterTrustBundleProjection>; selects: readonly string[] }>> = {
  'a name': { source: { name: 'plain' }, selects: ['plain'] },
  'a name without an object': { source: { name: 'gone' }, selects: [] },
  'a signer without labels': { source: { signerName: 'corp/ca' }, selects: [] },
  'a signer with empty labels': {
    source: { signerName: 'corp/ca', labelSelector: {} },
    selects: ['corp:ca:one', 'corp:ca:two'],
  },
  'a signer with a label': {
    source: { signerName: 'corp/ca', labelSelector: { matchLabels: { env: 'test' } } },
    selects: ['corp:ca:one'],
  },
};

for (const [name, { source, selects }] of Object.entries(cases)) {
  test(`bundleSelection() of ${name}`, () => {
    const selection = bundleSelection({ path: 'ca.pem', ...source });
    assert.deepEqual(
      BUNDLES.filter((each) => selection.selects(each)).map(({ metadata }) => metadata.name),
      selects,
    );
  });
}

const errors: Readonly<Record<string, { source: Partial<ClusterTrustBundleProjection>; message: string }>> = {
  'nothing selected': {
    source: {},
    message: 'ClusterTrustBundle projection requires either name or signerName to be set',
  },
  'an unknown operator': {
    source: { signerName: 's', labelSelector: { matchExpressions: [{ key: 'a', operator: 'Near' }] } },
    message: 'while parsing label selector: "Near" is not a valid label selector operator',
  },
  'a selector of 100 KiB': {
    source: { signerName: 's', labelSelector: { matchLabels: { a: 'x'.repeat(100 * 1024) } } },
    message: 'label selector length (102402) is larger than 102400',
  },
};

for (const [name, { source, message }] of Object.entries(errors)) {
  test(`bundleSelection() rejects ${name}`, () => {
    assert.throws(() => bundleSelection({ path: 'ca.pem', ...source }), { name: 'TrustBundleError', message });
  });
}

test('an absent selector and an empty one are different selections', () => {
  const key = (labelSelector?: object) => bundleSelection({ path: 'a', signerName: 's', labelSelector }).key;
  assert.notEqual(key(), key({}));
  assert.equal(key({}), key({ matchLabels: {} }));
});
