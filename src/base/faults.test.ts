import assert from 'node:assert/strict';
import { test } from 'node:test';
import { VirtualClock } from '../host/fake/virtual-clock.ts';
import { Faults } from './faults.ts';
import { InvariantError } from './invariant-error.ts';
import { type LogFields, silentLog } from './log.ts';

function setUp() {
  const clock = new VirtualClock();
  const logged: LogFields[] = [];
  const broken: unknown[] = [];
  const log = { ...silentLog, error: (_: string, fields: LogFields = {}) => void logged.push(fields) };
  const faults = new Faults({ clock, log, onBrokenInvariant: (error) => void broken.push(error) });
  return { clock, faults, logged, broken };
}

function bug(message = 'a bug'): Error {
  return new TypeError(message);
}

test('a fault is logged with part, fields and stack, counted, and shown for five minutes', async () => {
  const { clock, faults, logged } = setUp();
  const error = bug();
  faults.report('pod worker', error, { pod: 'default/web' });
  assert.deepEqual(logged, [{ part: 'pod worker', pod: 'default/web', error, stack: error.stack }]);
  assert.deepEqual([...faults.counts], [['pod worker', 1]]);
  await clock.advance(299_999);
  assert.equal(faults.recentFault(), 'pod worker: a bug');
  await clock.advance(1);
  assert.equal(faults.recentFault(), undefined);
});

for (const thrown of ['a text', undefined, null, 42, Object.create(null)]) {
  test(`a thrown value that is no error is a fault too: ${typeof thrown}`, () => {
    const { faults, logged } = setUp();
    faults.report('timer', thrown);
    assert.deepEqual([faults.counts.get('timer'), logged.length], [1, 1]);
  });
}

test('the same stack is logged five times a minute, whatever its message, and all are counted', async () => {
  const { clock, faults, logged } = setUp();
  for (let time = 0; time < 1_000; time++) faults.report('timer', bug(`attempt ${time}`));
  assert.deepEqual([logged.length, faults.counts.get('timer')], [5, 1_000]);
  faults.report('timer', bug('elsewhere'));
  assert.equal(logged.length, 6);
  assert.equal(logged[5]?.['suppressed'], 995);
  await clock.advance(60_000);
  for (let time = 0; time < 10; time++) faults.report('timer', bug());
  assert.equal(logged.length, 11);
});

test('faults with many stacks are logged sixty times a minute', () => {
  const { faults, logged } = setUp();
  for (let line = 0; line < 200; line++) {
    const error = bug();
    error.stack = `TypeError: a bug\n    at f (file.ts:${line}:1)`;
    faults.report('timer', error);
  }
  assert.equal(logged.length, 60);
});

test('a log that throws does not stop the report', () => {
  const fail = (): never => {
    throw new Error('no space left on device');
  };
  const faults = new Faults({ clock: new VirtualClock(), log: { ...silentLog, error: fail } });
  faults.report('timer', bug());
  assert.equal(faults.recentFault(), 'timer: a bug');
});

for (const [name, error] of [
  ['itself', new InvariantError('two owners')],
  ['as a cause', new Error('cannot sync', { cause: new InvariantError('two owners') })],
  ['among several', new AggregateError([bug(), new InvariantError('two owners')])],
] as const) {
  test(`a broken invariant, ${name}, ends the process`, async () => {
    const { faults, broken } = setUp();
    faults.report('pod worker', error);
    assert.deepEqual(broken, [error]);
    await assert.rejects(faults.untilBroken(new AbortController().signal), error);
  });
}

test('untilBroken() resolves when its signal aborts', async () => {
  const { faults, broken } = setUp();
  const life = new AbortController();
  const waiting = faults.untilBroken(life.signal);
  faults.report('timer', bug());
  life.abort();
  await waiting;
  await faults.untilBroken(life.signal);
  assert.deepEqual(broken, []);
});
