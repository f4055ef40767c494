import assert from 'node:assert/strict';
import { test } from 'node:test';
import { silentLog } from '../../base/log.ts';
import { createMemoryHost } from '../../host/fake/memory-host.ts';
import { MonitorScope } from './monitor-scope.ts';

test('monitors share a scope that outlives the service of the agent', async () => {
  const { systemd, clock } = createMemoryHost();
  const scope = new MonitorScope('monitors.scope', { systemd, clock, log: silentLog });
  await scope.adopt(11, 'a');
  await scope.adopt(12, 'b');
  const { PIDs, Slice, DefaultDependencies, Delegate } = systemd.propertiesOf('monitors.scope') ?? {};
  assert.deepEqual(
    { PIDs, Slice, DefaultDependencies, Delegate },
    { PIDs: [11, 12], Slice: 'system.slice', DefaultDependencies: false, Delegate: true },
  );
});

test('a container starts although systemd does not move its monitor, and the log says what that means', async () => {
  const { systemd, clock } = createMemoryHost();
  const warnings: unknown[] = [];
  const warn = (_: string, fields?: object): void => void warnings.push(fields);
  const scope = new MonitorScope('monitors.scope', { systemd, clock, log: { ...silentLog, warn } });
  systemd.errors.failNext('move processes to', 'the system bus closed the connection');
  await scope.adopt(11, 'a');
  assert.deepEqual(
    warnings.map((fields) => JSON.stringify(fields, (key, value) => (key === 'error' ? value.message : value))),
    ['{"container":"a","error":"cannot move processes to unit monitors.scope: the system bus closed the connection"}'],
  );
});
