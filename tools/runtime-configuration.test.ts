import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { parseConfigDocument } from '../src/app/config/parse-config-document.ts';
import { RUNTIME_CONFIGURATION } from '../src/app/runtime-config/runtime-config-schema.ts';

const TEXT = readFileSync(join(import.meta.dirname, '../docs/runtime-configuration.md'), 'utf8');

test('docs/runtime-configuration.md lists every field, and no other', () => {
  const tables = TEXT.split('Fields of a handler.').map((part) =>
    part.split('\n').flatMap((line) => /^\| `(\w+)` /.exec(line)?.[1] ?? []),
  );
  const fields = ['RuntimeConfiguration', 'RuntimeHandler'].map((struct) => [
    ...(RUNTIME_CONFIGURATION.structs[struct]?.keys() ?? []),
  ]);
  assert.deepEqual(
    tables.map((names) => new Set(names)),
    fields.map((names) => new Set(names)),
  );
});

test('the example of docs/runtime-configuration.md is a valid configuration', () => {
  const example = /```yaml\n([^`]*)```/.exec(TEXT)?.[1] ?? '';
  assert.deepEqual(parseConfigDocument(example, 'example', RUNTIME_CONFIGURATION).diagnostics, []);
});
