import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { MemoryFileSystem } from '../../host/fake/memory-file-system.ts';
import { createMemoryHost } from '../../host/fake/memory-host.ts';
import { observedContainer } from '../pod/observed-container.fixture.ts';
import type { ObservedContainer } from '../pod/observed-pod.ts';
import { terminationMessage } from './termination-message.ts';

const FILE = '/message';
const LOG = '/0.log';
const never = new AbortController().signal;

type Policy = ObservedContainer['terminationMessagePolicy'];

function ended(exitCode: number, terminationMessagePolicy: Policy): ObservedContainer {
  return observedContainer(
    'main',
    { state: 'exited', startedAt: 1n, finishedAt: 2n, exitCode, reason: 'Error', message: '' },
    { logPath: LOG, terminationMessagePolicy, terminationMessageFile: FILE },
  );
}

const log = (count: number, width = 4): string =>
  Array.from({ length: count }, (_, n) => `2026-01-01T00:00:00Z stderr F ${String(n).padStart(width, '0')}\n`).join('');

interface Case {
  exitCode?: number;
  policy?: Policy;
  file?: string;
  log?: string;
  message: string;
}

const cases: Record<string, Case> = {
  'is the content of the file': { file: 'out of paint', log: log(1), message: 'out of paint' },
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
  'reads 80 lines of the log': {
    policy: 'FallbackToLogsOnError',
    log: log(100),
    message: Array.from({ length: 80 }, (_, n) => `${String(n + 20).padStart(4, '0')}\n`).join(''),
  },
  'counts the parts of long lines as kubelet does': {
    policy: 'FallbackToLogsOnError',
    log: '2026-01-01T00:00:00Z stderr P x\n'.repeat(100),
    message: 'x'.repeat(80),
  },
  'reads 2048 bytes of the log': {
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
    assert.equal(await terminationMessage(ended(exitCode, policy), fs, never), message);
  });
}

const oddities: Record<string, { place: (fs: MemoryFileSystem) => Promise<void>; message: string }> = {
  'does not follow a symbolic link of the container': {
    place: (fs) => fs.symbolicLink('/secret', FILE),
    message: 'Error on reading termination log /message: open /message: too many levels of symbolic links',
  },
  'reports that the file is a directory': {
    place: (fs) => fs.makeDirectory(FILE),
    message: 'Error on reading termination log /message: read /message: is a directory',
  },
  'does not wait for a pipe': {
    place: async (fs) => void fs.createSocket(FILE, 0o600),
    message: 'Error on reading termination log /message: open /message: no such device or address',
  },
};

for (const [name, { place, message }] of Object.entries(oddities)) {
  test(`terminationMessage() ${name}`, async () => {
    const { fs } = createMemoryHost();
    await fs.writeFile('/secret', 'of the node');
    await place(fs);
    assert.equal(await terminationMessage(ended(1, 'FallbackToLogsOnError'), fs, never), message);
  });
}

test('terminationMessage() reports the missing part of the log path', async () => {
  const { fs } = createMemoryHost();
  await fs.makeDirectory('/var/log');
  const container = { ...ended(1, 'FallbackToLogsOnError'), logPath: '/var/log/pods/a/0.log' };
  assert.equal(
    await terminationMessage(container, fs, never),
    'Error on reading termination message from logs: failed to try resolving symlinks in path ' +
      '"/var/log/pods/a/0.log": lstat /var/log/pods: no such file or directory',
  );
});

test('terminationMessage() ignores the log of a container that could not be started', async () => {
  const { fs } = createMemoryHost();
  await fs.writeFile(LOG, log(2));
  const container = { ...ended(128, 'FallbackToLogsOnError'), reason: 'ContainerCannotRun' };
  assert.equal(await terminationMessage(container, fs, never), '');
});
