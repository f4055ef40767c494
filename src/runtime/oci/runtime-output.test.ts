import assert from 'node:assert/strict';
import { test } from 'node:test';
import { failureText, lastErrorLine, type MonitorReport, parseMonitorReport } from './runtime-output.ts';

const words: Record<string, { text: string; said: string }> = {
  'of crun unchanged': {
    text: 'executable file `nope` not found in $PATH: No such file or directory\n',
    said: 'executable file `nope` not found in $PATH: No such file or directory',
  },
  'of runc without its log format': {
    text: 'time="2026-11-15T16:53:43Z" level=error msg="runc create failed: unable to start container process: exec: \\"nope\\": executable file not found in $PATH"\n',
    said: 'exec: "nope": executable file not found in $PATH',
  },
  'of runc before its warnings': {
    text: 'time="x" level=error msg="exec failed: it broke"\ntime="x" level=warning msg="signal: killed"\n',
    said: 'it broke',
  },
  'the last of several lines': { text: 'first\r\nsecond\r\n\r\n', said: 'second' },
  'of conmon without its prefix': {
    text: '[conmon:e]: Container ID must be provided\n',
    said: 'Container ID must be provided',
  },
  'an empty text for no output': { text: '', said: '' },
};

for (const [name, { text, said }] of Object.entries(words)) {
  test(`lastErrorLine() returns the error ${name}`, () => assert.equal(lastErrorLine(text), said));
}

test('failureText() returns the message of a program, or its exit code', () => {
  const stderr = new TextEncoder().encode('it broke\n');
  assert.equal(failureText({ exitCode: 1, stderr }), 'it broke');
  assert.equal(failureText({ exitCode: 141, stderr: new Uint8Array() }), 'exited with code 141 without a message');
});

const answers: Record<string, { line: string; stderr?: string; answer: MonitorReport }> = {
  'a process': { line: '{"data": 9616}', answer: { kind: 'created', pid: 9616 } },
  'a reason': { line: '{"data": -1, "message": "it broke\\n"}', answer: { kind: 'failed', reason: 'it broke' } },
  'a reason on its standard error': { line: '', stderr: 'it broke\n', answer: { kind: 'failed', reason: 'it broke' } },
  'no process and no reason': {
    line: '{"data": -1}',
    answer: { kind: 'failed', reason: 'the monitor exited without a message' },
  },
  'invalid JSON': { line: 'garbage', answer: { kind: 'failed', reason: 'the monitor exited without a message' } },
};

for (const [name, { line, stderr = '', answer }] of Object.entries(answers)) {
  test(`parseMonitorReport() parses ${name}`, () => assert.deepEqual(parseMonitorReport({ line, stderr }), answer));
}

/** A megabyte each, of which a process in a container can write any. */
const ADVERSARIAL: Record<string, string> = {
  'a level many times': 'level=error '.repeat(90_000),
  'a level and open quotes': 'level=error msg=\\"'.repeat(60_000),
  'an unfinished message': `level=error msg="${'\\'.repeat(1_000_000)}`,
  'empty lines': '\r\n '.repeat(350_000),
  'one long line': 'x'.repeat(1_000_000),
};

for (const [name, text] of Object.entries(ADVERSARIAL)) {
  test(`lastErrorLine() returns a short text for ${name}, in linear time`, () => {
    assert.ok(lastErrorLine(text).length <= 4097);
  });
}
