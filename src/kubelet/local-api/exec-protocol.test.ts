import assert from 'node:assert/strict';
import { test } from 'node:test';
import { decodeExecMessage, type ExecMessage, encodeEndOfStdin, encodeResize, encodeStdin } from './exec-protocol.ts';

const bytes = (channel: number, text: string): Uint8Array => Buffer.from(`${String.fromCharCode(channel)}${text}`);
const status = (value: unknown): Uint8Array => bytes(3, JSON.stringify(value));

const cases: Record<string, { message: Uint8Array; decoded: ExecMessage }> = {
  output: { message: bytes(1, 'hi'), decoded: { kind: 'stdout', data: Buffer.from('hi') } },
  'error output': { message: bytes(2, 'oh'), decoded: { kind: 'stderr', data: Buffer.from('oh') } },
  'the opening of a channel': { message: bytes(1, ''), decoded: { kind: 'nothing' } },
  'a channel of a later version': { message: bytes(9, 'x'), decoded: { kind: 'nothing' } },
  'the end of a channel': { message: Buffer.from([255, 1]), decoded: { kind: 'nothing' } },
  'a message without a channel': { message: Buffer.from(''), decoded: { kind: 'nothing' } },
  success: {
    message: status({ metadata: {}, status: 'Success' }),
    decoded: { kind: 'end', end: { exitCode: 0 } },
  },
  'an exit code': {
    message: status({
      status: 'Failure',
      reason: 'NonZeroExitCode',
      message: 'command terminated with non-zero exit code',
      details: { causes: [{ reason: 'ExitCode', message: '3' }] },
    }),
    decoded: { kind: 'end', end: { exitCode: 3 } },
  },
  'an exit code that is not one': {
    message: status({
      reason: 'NonZeroExitCode',
      message: 'm',
      details: { causes: [{ reason: 'ExitCode', message: '9'.repeat(400) }] },
    }),
    decoded: { kind: 'end', end: { failure: 'm' } },
  },
  'a command that could not start': {
    message: status({ status: 'Failure', reason: 'InternalError', message: 'no such file' }),
    decoded: { kind: 'end', end: { failure: 'no such file' } },
  },
  'plain text': { message: bytes(3, 'it broke'), decoded: { kind: 'end', end: { failure: 'it broke' } } },
};

for (const [name, { message, decoded }] of Object.entries(cases)) {
  test(`decodeExecMessage() reads ${name}`, () => {
    assert.deepEqual(decodeExecMessage(message), decoded);
  });
}

test('encodeStdin() names the channel', () => {
  assert.deepEqual([...encodeStdin(Buffer.from('ls\n'))], [0, ...Buffer.from('ls\n')]);
});

test('encodeEndOfStdin() names the channel that ends', () => {
  assert.deepEqual([...encodeEndOfStdin()], [255, 0]);
});

test('encodeResize() has width and height', () => {
  assert.equal(Buffer.from(encodeResize({ columns: 80, rows: 24 })).toString(), '\x04{"Width":80,"Height":24}');
});
