import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { PersistentVolume } from '../../../api/generated/core-v1.ts';
import { errorText } from '../../../base/error-text.ts';
import { migrateToCsi } from './csi-migration.ts';

interface Case {
  readonly name: string;
  readonly given: PersistentVolume;
  /** What `TranslateInTreePVToCSI` of k8s.io/csi-translation-lib v0.36.4 returned. */
  readonly csi?: PersistentVolume;
  readonly error?: string;
}

const file = '../../../../test/data/csi-migration/volumes.json';
const { default: cases }: { readonly default: readonly Case[] } = await import(file, { with: { type: 'json' } });

for (const { name, given, csi, error } of cases.filter(({ given: { spec } }) => spec.csi === undefined)) {
  test(`migrateToCsi() translates a volume as kubelet does: ${name}`, () => {
    if (error === undefined) assert.deepEqual(plain(migrateToCsi(given)), csi);
    else
      assert.throws(
        () => migrateToCsi(given),
        (thrown) => errorText(thrown) === error,
      );
  });
}

test('migrateToCsi() returns other volumes as they are', () => {
  const volume = { metadata: { name: 'pv' }, spec: { nfs: { server: 's', path: '/' } } };
  assert.equal(migrateToCsi(volume), volume);
});

/** Without fields that are undefined. */
function plain(value: unknown): unknown {
  return JSON.parse(JSON.stringify(value));
}
