import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createLog } from './create-log.ts';

const clock = { now: () => 1_794_739_649_123 };

function logged(options: { format: 'human' | 'journal' | 'json'; verbosity?: number; coloured?: boolean }) {
  const lines: string[] = [];
  const log = createLog({ clock, verbosity: 2, write: (line) => lines.push(line), ...options });
  return { log, lines };
}

test('a record on a terminal is a time, a letter, the message and its fields', () => {
  const { log, lines } = logged({ format: 'human' });
  log.warn('cannot start pod', { pod: 'default/hello', attempt: 2, error: new Error('no such image') });
  assert.deepEqual(lines, ['10:47:29.123 W cannot start pod pod=default/hello attempt=2 error="no such image"\n']);
});

test('a record in the journal has a priority, and neither time nor letter', () => {
  const { log, lines } = logged({ format: 'journal' });
  log.error('cannot start pod', { pod: 'default/hello', error: 'two\nlines' });
  log.warn('slow disk');
  log.info('started');
  assert.deepEqual(lines, [
    '<3>cannot start pod pod=default/hello error="two\\nlines"\n',
    '<4>slow disk\n',
    '<6>started\n',
  ]);
});

test('a record elsewhere is one JSON object', () => {
  const { log, lines } = logged({ format: 'json' });
  log.info('pod ready', { pod: 'default/hello', size: 12n });
  assert.deepEqual(
    lines.map((line) => JSON.parse(line)),
    [
      {
        level: 'info',
        time: '2026-11-15T10:47:29.123000Z',
        message: 'pod ready',
        fields: { pod: 'default/hello', size: '12' },
      },
    ],
  );
});

test('secrets are never written', () => {
  const { log, lines } = logged({ format: 'json' });
  log.error('x', { registryPassword: 'hunter2', nested: { authToken: 'hunter2' }, list: [{ secretKey: 'hunter2' }] });
  assert.equal(lines.join('').includes('hunter2'), false);
});

test('an error is shown with its causes, each once', () => {
  const { log, lines } = logged({ format: 'human' });
  const cause = new Error('connection refused');
  log.error('a', { error: new Error('cannot reach runtime', { cause }) });
  log.error('b', { error: new Error('cannot reach runtime: connection refused', { cause }) });
  log.error('c', { error: new AggregateError([new Error('one'), new Error('two')], 'both failed') });
  assert.deepEqual(
    lines.map((line) => line.slice(15).trimEnd()),
    [
      'a error="cannot reach runtime: connection refused"',
      'b error="cannot reach runtime: connection refused"',
      'c error="both failed; one; two"',
    ],
  );
});

const shown: Record<number, string[]> = {
  0: ['warn', 'error'],
  2: ['info', 'warn', 'error'],
  4: ['debug', 'info', 'warn', 'error'],
};

for (const [verbosity, levels] of Object.entries(shown)) {
  test(`--v=${verbosity} shows ${levels.join(', ')}`, () => {
    const { log, lines } = logged({ format: 'json', verbosity: Number(verbosity) });
    for (const level of ['debug', 'info', 'warn', 'error'] as const) log[level]('x');
    assert.deepEqual(
      lines.map((line) => JSON.parse(line).level),
      levels,
    );
  });
}

test('long texts of images, pods and registries are cut, in every kind of field', () => {
  const { log, lines } = logged({ format: 'json' });
  const long = 'x'.repeat(1_000_000);
  log.warn('x', { path: long, error: new Error(long), list: [long], [long]: 1 });
  const line = lines.join('');
  assert.ok(line.length < 50_000, `${line.length} characters`);
  assert.equal(line.match(/x… \(991808 more characters\)/g)?.length, 4);
});

test('a field that refers to itself does not end the program', () => {
  const { log, lines } = logged({ format: 'human' });
  const loop: Record<string, unknown> = {};
  loop['self'] = loop;
  log.warn('x', { loop });
  assert.equal(lines.length, 1);
});
