import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import { generateNri } from './generate-nri.ts';

test('generateNri() writes the messages of NRI and of ttrpc', () => {
  const { folders, files } = generateNri(join(import.meta.dirname, '..'));
  assert.deepEqual(folders, ['src/runtime/nri/generated']);
  assert.deepEqual(
    new Set(files.keys()),
    new Set([
      'src/runtime/nri/generated/nri-v1alpha1.proto',
      'src/runtime/nri/generated/nri-v1alpha1.ts',
      'src/runtime/nri/generated/ttrpc.proto',
      'src/runtime/nri/generated/ttrpc.ts',
    ]),
  );
});
