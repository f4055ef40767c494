import assert from 'node:assert/strict';
import { test } from 'node:test';
import { silentLog } from '../../base/log.ts';
import { createMemoryHost } from '../../host/fake/memory-host.ts';
import { notificationText } from '../../host/service-manager.ts';
import { reportService } from './report-service.ts';

function start({ watchdog = 30_000, reason = () => undefined as string | undefined } = {}) {
  const { serviceManager, clock } = createMemoryHost();
  serviceManager.watchdog = watchdog;
  const errors: unknown[] = [];
  const log = { ...silentLog, error: (_: string, fields?: object) => void errors.push(fields) };
  const ending = new AbortController();
  const report = () =>
    reportService('node box', { serviceManager, clock, log, unhealthyReason: reason }, ending.signal);
  const received = (): string[] => serviceManager.received.splice(0).map(notificationText);
  return { report, received, clock, ending, errors, serviceManager };
}

test('a service reports its start, and twice in each watchdog time that it works', async () => {
  const { report, received, clock } = start();
  using _ = report();
  await clock.advance(0);
  assert.deepEqual(received(), ['READY=1\nSTATUS=node box', 'WATCHDOG=1']);
  await clock.advance(14_999);
  assert.deepEqual(received(), []);
  await clock.advance(1);
  assert.deepEqual(received(), ['WATCHDOG=1']);
});

test('a service that is not healthy does not notify the watchdog, and logs why', async () => {
  let reason: string | undefined = 'the sync loop hangs';
  const { report, received, clock, errors } = start({ reason: () => reason });
  using _ = report();
  await clock.advance(15_000);
  assert.deepEqual(received(), ['READY=1\nSTATUS=node box']);
  assert.deepEqual(errors, [{ reason }, { reason }]);
  reason = undefined;
  await clock.advance(15_000);
  assert.deepEqual(received(), ['WATCHDOG=1']);
});

test('a service that stops asks for more time until it has stopped', async () => {
  const { report, received, clock, ending } = start();
  const reported = report();
  await clock.advance(0);
  received();
  ending.abort();
  await clock.advance(10_000);
  assert.deepEqual(received(), [
    'STOPPING=1\nSTATUS=stopping',
    'EXTEND_TIMEOUT_USEC=30000000',
    'EXTEND_TIMEOUT_USEC=30000000',
  ]);
  reported[Symbol.dispose]();
  await clock.advance(60_000);
  assert.deepEqual(received(), []);
});

test('a service goes on when its manager is gone, and refuses a watchdog time that it cannot keep', async () => {
  const { report, clock, serviceManager } = start();
  serviceManager.failure = 'ECONNREFUSED';
  using _ = report();
  await clock.advance(20_000);
  serviceManager.watchdog = 1_000;
  assert.throws(report, { message: 'configure watchdog timeout too small: 1s' });
});
