import assert from 'node:assert/strict';
import { test } from 'node:test';
import { SessionLimits } from './session-limits.ts';

const pod = (name: string) => ({ name: `pod default/${name}`, max: 2 });
const user = (name: string) => ({ name: `user ${name}`, max: 3 });

const CASES: Record<string, { open: ReadonlyArray<readonly [string, string]>; error: string | undefined }> = {
  'the last session of a pod and a user': {
    open: [
      ['web', 'jane'],
      ['api', 'jane'],
    ],
    error: undefined,
  },
  'one more for the pod': {
    open: [
      ['web', 'jane'],
      ['web', 'joe'],
    ],
    error: 'maximum number of streaming sessions of pod default/web exceeded: 2',
  },
  'one more for the user': {
    open: [
      ['a', 'jane'],
      ['b', 'jane'],
      ['c', 'jane'],
    ],
    error: 'maximum number of streaming sessions of user jane exceeded: 3',
  },
};

for (const [what, { open, error }] of Object.entries(CASES)) {
  test(`SessionLimits: ${what} ${error === undefined ? 'is opened' : 'is refused'}`, () => {
    const limits = new SessionLimits();
    for (const [name, client] of open) limits.open([pod(name), user(client)]);
    const next = () => limits.open([pod('web'), user('jane')]);
    if (error === undefined) next();
    else assert.throws(next, { name: 'SessionLimitError', message: error });
  });
}

test('SessionLimits: a refused session counts nowhere, and a closed one is released once', () => {
  const limits = new SessionLimits();
  const first = limits.open([pod('web'), user('jane')]);
  limits.open([pod('web'), user('jane')]);
  assert.throws(() => limits.open([user('joe'), pod('web')]));
  assert.deepEqual([limits.count('pod default/web'), limits.count('user joe')], [2, 0]);
  first[Symbol.dispose]();
  first[Symbol.dispose]();
  assert.deepEqual([limits.count('pod default/web'), limits.count('user jane')], [1, 1]);
});
