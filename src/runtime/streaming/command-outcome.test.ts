import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type CommandOutcome, outcomeText } from './command-outcome.ts';

const failed = 'error executing command in container: no such file';
const nonZero = 'command terminated with non-zero exit code: error executing command [ls /x], exit code 2';

const outcomes: Record<string, [outcome: CommandOutcome, status: object, text: string]> = {
  success: [{ kind: 'exited', exitCode: 0, command: ['true'] }, { metadata: {}, status: 'Success' }, ''],
  'the end of attach': [{ kind: 'detached' }, { metadata: {}, status: 'Success' }, ''],
  'an exit code': [
    { kind: 'exited', exitCode: 2, command: ['ls', '/x'] },
    {
      metadata: {},
      status: 'Failure',
      message: nonZero,
      reason: 'NonZeroExitCode',
      details: { causes: [{ reason: 'ExitCode', message: '2' }] },
    },
    nonZero,
  ],
  'a failed start': [
    { kind: 'failed', message: failed },
    {
      metadata: {},
      status: 'Failure',
      message: `Internal error occurred: ${failed}`,
      reason: 'InternalError',
      details: { causes: [{ message: failed }] },
      code: 500,
    },
    `Internal error occurred: ${failed}`,
  ],
};

for (const [name, [outcome, status, text]] of Object.entries(outcomes)) {
  test(`outcomeText() of ${name}`, () => {
    assert.deepEqual(JSON.parse(outcomeText(outcome, 'status')), status);
    assert.equal(outcomeText(outcome, 'text'), text);
  });
}
