import assert from 'node:assert/strict';
import { test } from 'node:test';
import { silentLog } from '../../base/log.ts';
import { createMemoryHost } from '../../host/fake/memory-host.ts';
import { notificationText } from '../../host/service-manager.ts';
import { ServiceReport } from './report-service.ts';

const MORE_TIME = 'EXTEND_TIMEOUT_USEC=30000000';

function setUp(watchdog: number | undefined = 30_000) {
  const { serviceManager, clock } = createMemoryHost();
  serviceManager.watchdog = watchdog;
  const errors: unknown[] = [];
  const log = { ...silentLog, error: (_: string, fields?: object) => void errors.push(fields) };
  const ending = new AbortController();
  const start = (): ServiceReport => new ServiceReport({ serviceManager, clock, log }, ending.signal);
  const received = (): string[] => serviceManager.received.splice(0).map(notificationText);
  return { start, received, clock, ending, errors, serviceManager };
}

const healthy = (): undefined => undefined;

test('a service that starts asks for more time, then reports twice in each watchdog time that it works', async () => {
  const { start, received, clock } = setUp();
  using service = start();
  await clock.advance(10_000);
  assert.deepEqual(received(), [MORE_TIME, MORE_TIME]);
  service.ready('node box', healthy);
  await clock.advance(14_999);
  assert.deepEqual(received(), ['READY=1\nSTATUS=node box', 'WATCHDOG=1']);
  await clock.advance(1);
  assert.deepEqual(received(), ['WATCHDOG=1']);
});

test('a service that is not healthy does not notify the watchdog, and logs why', async () => {
  const { start, received, clock, errors } = setUp();
  let reason: string | undefined = 'the sync loop hangs';
  using service = start();
  service.ready('node box', () => reason);
  await clock.advance(15_000);
  assert.deepEqual(received(), [MORE_TIME, 'READY=1\nSTATUS=node box']);
  assert.deepEqual(errors, [{ reason }, { reason }]);
  reason = undefined;
  await clock.advance(15_000);
  assert.deepEqual(received(), ['WATCHDOG=1']);
});

test('a service that stops asks for more time until it has stopped', async () => {
  const { start, received, clock, ending } = setUp();
  const service = start();
  service.ready('node box', healthy);
  await clock.advance(0);
  received();
  ending.abort();
  await clock.advance(10_000);
  assert.deepEqual(received(), ['STOPPING=1\nSTATUS=stopping', MORE_TIME, MORE_TIME]);
  service[Symbol.dispose]();
  await clock.advance(60_000);
  assert.deepEqual(received(), []);
});

test('a service that is stopped before it has started is never ready', async () => {
  const { start, received, clock, ending } = setUp();
  using service = start();
  ending.abort();
  service.ready('node box', healthy);
  await clock.advance(0);
  assert.deepEqual(received(), [MORE_TIME, 'STOPPING=1\nSTATUS=stopping', MORE_TIME]);
});

test('a service goes on when its manager is gone, and refuses a watchdog time that it cannot keep', async () => {
  const { start, clock, serviceManager } = setUp();
  serviceManager.failure = 'ECONNREFUSED';
  using service = start();
  service.ready('node box', healthy);
  await clock.advance(20_000);
  serviceManager.watchdog = 1_000;
  assert.throws(start, { message: 'configure watchdog timeout too small: 1s' });
});
