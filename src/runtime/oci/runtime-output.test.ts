import assert from 'node:assert/strict';
import { test } from 'node:test';
import { failureText, lastErrorLine, type MonitorReport, parseMonitorReport } from './runtime-output.ts';

const words: Record<string, { text: string; said: string }> = {
  'of crun as they are': {
    text: 'executable file `nope` not found in $PATH: No such file or directory\n',
    said: 'executable file `nope` not found in $PATH: No such file or directory',
  },
  'of runc without the form of its log': {
    text: 'time="2026-11-15T16:53:43Z" level=error msg="runc create failed: unable to start container process: exec: \\"nope\\": executable file not found in $PATH"\n',
    said: 'exec: "nope": executable file not found in $PATH',
  },
  'of runc behind its warnings': {
    text: 'time="x" level=error msg="exec failed: it broke"\ntime="x" level=warning msg="signal: killed"\n',
    said: 'it broke',
  },
  'the last of several lines': { text: 'first\r\nsecond\r\n\r\n', said: 'second' },
  'of conmon without its mark': {
    text: '[conmon:e]: Container ID must be provided\n',
    said: 'Container ID must be provided',
  },
  'nothing of nothing': { text: '', said: '' },
};

for (const [name, { text, said }] of Object.entries(words)) {
  test(`lastWords() tells ${name}`, () => assert.equal(lastErrorLine(text), said));
}

test('faultOf() tells what a program said, or that it said nothing', () => {
  const stderr = new TextEncoder().encode('it broke\n');
  assert.equal(failureText({ exitCode: 1, stderr }), 'it broke');
  assert.equal(failureText({ exitCode: 141, stderr: new Uint8Array() }), 'ended with exit code 141 without a word');
});

const answers: Record<string, { line: string; stderr?: string; answer: MonitorReport }> = {
  'a process': { line: '{"data": 9616}', answer: { kind: 'created', pid: 9616 } },
  'a reason': { line: '{"data": -1, "message": "it broke\\n"}', answer: { kind: 'failed', reason: 'it broke' } },
  'a reason on its standard error': { line: '', stderr: 'it broke\n', answer: { kind: 'failed', reason: 'it broke' } },
  'no process and no reason': {
    line: '{"data": -1}',
    answer: { kind: 'failed', reason: 'the monitor ended without a word' },
  },
  'what is no answer': { line: 'garbage', answer: { kind: 'failed', reason: 'the monitor ended without a word' } },
};

for (const [name, { line, stderr = '', answer }] of Object.entries(answers)) {
  test(`readMonitorAnswer() understands ${name}`, () => assert.deepEqual(parseMonitorReport({ line, stderr }), answer));
}
