import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createMemoryHost } from '../../host/fake/memory-host.ts';
import type { ObservedContainer } from './observed-pod.ts';
import { terminationMessage } from './termination-message.ts';

const FILE = '/message';
const LOG = '/0.log';

function ended(exitCode: number, policy: ObservedContainer['terminationMessagePolicy']): ObservedContainer {
  return {
    id: 'c',
    name: 'main',
    sandboxId: 's',
    restartCount: 0,
    hash: '',
    image: '',
    imageRef: '',
    imageId: '',
    createdAt: 0n,
    logPath: LOG,
    terminationMessagePath: '/dev/termination-log',
    terminationMessagePolicy: policy,
    terminationGracePeriodSeconds: 30,
    terminationMessageFile: FILE,
    state: 'exited',
    startedAt: 1n,
    finishedAt: 2n,
    exitCode,
    reason: 'Error',
    message: '',
  };
}

const log = (count: number, width = 4): string =>
  Array.from({ length: count }, (_, n) => `2026-01-01T00:00:00Z stderr F ${String(n).padStart(width, '0')}\n`).join('');

interface Case {
  exitCode?: number;
  policy?: ObservedContainer['terminationMessagePolicy'];
  file?: string;
  log?: string;
  message: string;
}

const cases: Record<string, Case> = {
  'is what the file says': { file: 'out of paint', log: log(1), message: 'out of paint' },
  'is the end of a long file': { file: `${'a'.repeat(100)}${'b'.repeat(4096)}`, message: 'b'.repeat(4096) },
  'is empty without a file': { log: log(1), message: '' },
  'prefers the file to the log': { policy: 'FallbackToLogsOnError', file: 'said', log: log(1), message: 'said' },
  'falls back to the log after a failure': {
    policy: 'FallbackToLogsOnError',
    file: '',
    log: log(2),
    message: '0000\n0001\n',
  },
  'does not fall back after a success': {
    exitCode: 0,
    policy: 'FallbackToLogsOnError',
    log: log(2),
    message: '',
  },
  'takes 80 lines of the log': {
    policy: 'FallbackToLogsOnError',
    log: log(100),
    message: Array.from({ length: 80 }, (_, n) => `${String(n + 20).padStart(4, '0')}\n`).join(''),
  },
  'takes 2048 bytes of the log': {
    policy: 'FallbackToLogsOnError',
    log: log(30, 1023),
    message: `${'28'.padStart(1023, '0')}\n${'29'.padStart(1023, '0')}\n`,
  },
};

for (const [name, { exitCode = 1, policy = 'File', file, log: lines, message }] of Object.entries(cases)) {
  test(`terminationMessage() ${name}`, async () => {
    const { fs } = createMemoryHost();
    if (file !== undefined) await fs.writeFile(FILE, file);
    if (lines !== undefined) await fs.writeFile(LOG, lines);
    assert.equal(await terminationMessage(ended(exitCode, policy), fs, new AbortController().signal), message);
  });
}
