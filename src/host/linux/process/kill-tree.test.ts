import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ProcessIdentity } from '../../processes.ts';
import { descendantsOf } from './kill-tree.ts';

const COUNT = 200_000;
const processNumber = (pid: number): ProcessIdentity => ({ pid, startTime: pid });
const target = processNumber(0);

test('descendantsOf() follows a chain of any length, the deepest first', async () => {
  const found = await descendantsOf(target, ({ pid }) => (pid < COUNT ? [processNumber(pid + 1)] : []));
  assert.deepEqual([found.length, found[0]?.pid, found.at(-1)?.pid], [COUNT, COUNT, 1]);
});

test('descendantsOf() supports any number of children, and yields to the event loop', async () => {
  let turns = 0;
  const ticking = setInterval(() => turns++, 0);
  const children = Array.from({ length: COUNT }, (_, index) => processNumber(index + 1));
  const found = await descendantsOf(target, ({ pid }) => (pid === 0 ? children : []));
  clearInterval(ticking);
  assert.equal(found.length, COUNT);
  assert.ok(turns > 10, `${turns} turns`);
});
