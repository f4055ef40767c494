import assert from 'node:assert/strict';
import { test } from 'node:test';
import { decodeExecInput, type ExecInput, type ExecOutcome, encodeOutcome } from './exec-channels.ts';

const message = (channel: number, text: string) => Buffer.concat([Uint8Array.of(channel), Buffer.from(text)]);

const inputs: Record<string, [message: Uint8Array, input: ExecInput]> = {
  'standard input': [message(0, 'hi'), { kind: 'stdin', data: Buffer.from('hi') }],
  'the end of standard input': [Uint8Array.of(255, 0), { kind: 'endOfStdin' }],
  'the end of another channel': [Uint8Array.of(255, 1), { kind: 'nothing' }],
  'a size': [message(4, '{"Width":80,"Height":24}'), { kind: 'resize', width: 80, height: 24 }],
  'a size of nothing': [message(4, '{"Width":0,"Height":24}'), { kind: 'nothing' }],
  'no JSON': [message(4, 'wide'), { kind: 'nothing' }],
  "a channel of the server's": [message(1, 'hi'), { kind: 'nothing' }],
  'an empty message': [new Uint8Array(), { kind: 'nothing' }],
};

for (const [name, [bytes, input]] of Object.entries(inputs)) {
  test(`decodeExecInput() reads ${name}`, () => assert.deepEqual(decodeExecInput(bytes), input));
}

const failed = 'error executing command in container: no such file';
const outcomes: Record<string, [outcome: ExecOutcome, status: unknown]> = {
  success: [
    { kind: 'exited', exitCode: 0, command: ['true'] },
    { metadata: {}, status: 'Success' },
  ],
  'an exit code': [
    { kind: 'exited', exitCode: 3, command: ['sh', '-c', 'exit 3'] },
    {
      metadata: {},
      status: 'Failure',
      message: 'command terminated with non-zero exit code: error executing command [sh -c exit 3], exit code 3',
      reason: 'NonZeroExitCode',
      details: { causes: [{ reason: 'ExitCode', message: '3' }] },
    },
  ],
  'a failure': [
    { kind: 'failed', message: 'no such file' },
    {
      metadata: {},
      status: 'Failure',
      message: `Internal error occurred: ${failed}`,
      reason: 'InternalError',
      details: { causes: [{ message: failed }] },
      code: 500,
    },
  ],
};

for (const [name, [outcome, status]] of Object.entries(outcomes)) {
  test(`encodeOutcome() tells clients of ${name}, on the channel for errors`, () => {
    const [channel, ...text] = encodeOutcome(outcome);
    assert.deepEqual([channel, JSON.parse(Buffer.from(text).toString())], [3, status]);
  });
}
