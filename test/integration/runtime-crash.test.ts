import assert from 'node:assert/strict';
import { test } from 'node:test';
import { runtimeCrash } from './runtime-crash.ts';
import { embeddedSkipReason } from './runtime-fixture.ts';

test('a runtime that is killed repeatedly loses nothing and leaks nothing', {
  skip: embeddedSkipReason(),
}, async () => {
  const { kills, operations, wrong, leaks } = await runtimeCrash({ operations: 60, seed: 7 });
  assert.deepEqual({ wrong, leaks }, { wrong: [], leaks: [] });
  assert.ok(kills > 4 && operations >= 60, `${kills} kills in ${operations} operations`);
});
