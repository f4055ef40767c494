/** After `kill -9` at any instant the next agent continues where the last one was. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { crashLoop } from './crash-loop.ts';
import { embeddedSkipReason } from './runtime-fixture.ts';

const SECONDS = 20;

test('an agent that is killed in a loop while pods are created and deleted leaks nothing and restarts nothing', {
  skip: embeddedSkipReason(),
  timeout: 900_000,
}, async (t) => {
  const { kills, created, deleted, wrong, leaks, exitCode, output } = await crashLoop({ seconds: SECONDS, seed: 1 });
  t.diagnostic(`killed ${kills} times, ${created} pods created, ${deleted} deleted`);
  assert.ok(kills >= 3 && created >= 20, `${kills} kills, ${created} pods`);
  assert.deepEqual({ wrong, leaks, exitCode }, { wrong: [], leaks: [], exitCode: 0 }, output);
});
