import assert from 'node:assert/strict';
import { test } from 'node:test';
import { InvariantError } from '../base/invariant-error.ts';
import { type LogFields, silentLog } from '../base/log.ts';
import { UnhandledErrors } from '../base/unhandled-errors.ts';
import { VirtualClock } from '../host/fake/virtual-clock.ts';

function setUp() {
  const clock = new VirtualClock();
  const logged: LogFields[] = [];
  const broken: unknown[] = [];
  const log = { ...silentLog, error: (_: string, fields: LogFields = {}) => void logged.push(fields) };
  const unhandled = new UnhandledErrors({ clock, log, onBrokenInvariant: (error) => void broken.push(error) });
  return { clock, unhandled, logged, broken };
}

function bug(message = 'a bug'): Error {
  return new TypeError(message);
}

test('an error is logged with part, fields and stack, counted, and shown for five minutes', async () => {
  const { clock, unhandled, logged } = setUp();
  const error = bug();
  unhandled.report('pod worker', error, { pod: 'default/web' });
  assert.deepEqual(logged, [{ part: 'pod worker', pod: 'default/web', error, stack: error.stack }]);
  assert.deepEqual([...unhandled.counts], [['pod worker', 1]]);
  await clock.advance(299_999);
  assert.equal(unhandled.recentError(), 'pod worker: a bug');
  await clock.advance(1);
  assert.equal(unhandled.recentError(), undefined);
});

for (const thrown of ['a text', undefined, null, 42, Object.create(null)]) {
  test(`a thrown value that is no error is reported too: ${typeof thrown}`, () => {
    const { unhandled, logged } = setUp();
    unhandled.report('timer', thrown);
    assert.deepEqual([unhandled.counts.get('timer'), logged.length], [1, 1]);
  });
}

test('the same stack is logged five times a minute, whatever its message, and all are counted', async () => {
  const { clock, unhandled, logged } = setUp();
  for (let time = 0; time < 1_000; time++) unhandled.report('timer', bug(`attempt ${time}`));
  assert.deepEqual([logged.length, unhandled.counts.get('timer')], [5, 1_000]);
  unhandled.report('timer', bug('elsewhere'));
  assert.equal(logged.length, 6);
  assert.equal(logged[5]?.['suppressed'], 995);
  await clock.advance(60_000);
  for (let time = 0; time < 10; time++) unhandled.report('timer', bug());
  assert.equal(logged.length, 11);
});

test('errors with many stacks are logged sixty times a minute', () => {
  const { unhandled, logged } = setUp();
  for (let line = 0; line < 200; line++) {
    const error = bug();
    error.stack = `TypeError: a bug\n    at f (file.ts:${line}:1)`;
    unhandled.report('timer', error);
  }
  assert.equal(logged.length, 60);
});

test('a log that throws does not stop the report', () => {
  const fail = (): never => {
    throw new Error('no space left on device');
  };
  const unhandled = new UnhandledErrors({ clock: new VirtualClock(), log: { ...silentLog, error: fail } });
  unhandled.report('timer', bug());
  assert.equal(unhandled.recentError(), 'timer: a bug');
});

for (const [name, error] of [
  ['itself', new InvariantError('two owners')],
  ['as a cause', new Error('cannot sync', { cause: new InvariantError('two owners') })],
  ['among several', new AggregateError([bug(), new InvariantError('two owners')])],
] as const) {
  test(`a broken invariant, ${name}, ends the process`, async () => {
    const { unhandled, broken } = setUp();
    unhandled.report('pod worker', error);
    assert.deepEqual(broken, [error]);
    await assert.rejects(unhandled.untilBroken(new AbortController().signal), error);
  });
}

test('untilBroken() resolves when its signal aborts', async () => {
  const { unhandled, broken } = setUp();
  const life = new AbortController();
  const waiting = unhandled.untilBroken(life.signal);
  unhandled.report('timer', bug());
  life.abort();
  await waiting;
  await unhandled.untilBroken(life.signal);
  assert.deepEqual(broken, []);
});
