import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Container, ContainerStatus } from '../../api/generated/core-v1.ts';
import { ago, ended, event, NOW, reportWith, running, statusOf, waiting } from './fake/reports.ts';
import { why } from './why.ts';

const proxy: Container = { name: 'proxy', image: 'proxy:1', restartPolicy: 'Always' };
const migrate: Container = { name: 'migrate', image: 'migrate:1' };
const later = waiting('PodInitializing');
const done = ended(30, 0, undefined, 'Completed');

interface InitCase {
  readonly spec?: readonly Container[];
  readonly init: readonly ContainerStatus[];
  readonly events?: Parameters<typeof event>[];
  readonly says: readonly string[];
}

const cases: Record<string, InitCase> = {
  'one of them runs': {
    init: [statusOf('fetch', done), statusOf('migrate', running(12)), statusOf('proxy', later)],
    says: [
      'hello is not ready (for 30 s): init container migrate (2 of 3) is not done yet.',
      'Init container migrate (2 of 3) has been running for 12 s; what comes after it waits for its end.',
    ],
  },
  'one of them fails again and again': {
    init: [
      statusOf('fetch', done),
      statusOf('migrate', waiting('CrashLoopBackOff', 'back-off 10s restarting failed container=migrate pod=x'), {
        restartCount: 1,
        lastState: ended(4, 2, 'table is locked'),
      }),
      statusOf('proxy', later),
    ],
    events: [['BackOff', '', ago(1), { container: 'migrate', cause: { kind: 'crashBackoff', delayMs: 10_000 } }]],
    says: [
      'hello is not ready (for 30 s): init container migrate (2 of 3) keeps ending.',
      'Init container migrate (2 of 3) has ended twice.',
      'The last time, it ended 4 s ago with exit code 2: "table is locked".',
      'It starts again in 6 s (back-off 10s).',
    ],
  },
  'one of them failed, and runs again': {
    init: [
      statusOf('fetch', done),
      statusOf('migrate', running(1), { restartCount: 1, lastState: ended(2, 1) }),
      statusOf('proxy', later),
    ],
    says: [
      'hello is not ready (for 30 s): init container migrate (2 of 3) is not done yet.',
      'Init container migrate (2 of 3) has been running for 1 s; what comes after it waits for its end.',
      'Init container migrate (2 of 3) was restarted once; the one before ended 2 s ago with exit code 1.',
    ],
  },
  'a sidecar has not started up': {
    spec: [{ ...proxy, startupProbe: { tcpSocket: { port: 1 }, failureThreshold: 10, periodSeconds: 2 } }],
    init: [statusOf('proxy', running(9), { started: false })],
    events: [
      ['Started', 'Container started', ago(8.5), { container: 'proxy' }],
      [
        'Unhealthy',
        '',
        ago(1),
        {
          container: 'proxy',
          cause: {
            kind: 'probeFailed',
            probe: 'startup',
            output: 'dial tcp 10.87.0.5:1: connect: connection refused',
          },
        },
      ],
    ],
    says: [
      'hello is not ready (for 30 s): sidecar proxy fails its startup probe.',
      'Sidecar proxy runs, but its startup probe has failed once, 1 s ago: "dial tcp 10.87.0.5:1: connect: connection refused".',
      'After 10 failures in a row it is killed.',
    ],
  },
  'a sidecar was not checked yet': {
    spec: [{ ...proxy, startupProbe: { tcpSocket: { port: 1 }, periodSeconds: 2 } }],
    init: [statusOf('proxy', running(1), { started: false })],
    says: [
      'hello is not ready (for 30 s): the startup probe of sidecar proxy has not succeeded yet.',
      'Sidecar proxy runs, but its startup probe has not succeeded yet; it checks every 2 s, and the container started 1 s ago.',
      'After 3 failures in a row it is killed.',
    ],
  },
  'a sidecar cannot be pulled': {
    spec: [proxy],
    init: [statusOf('proxy', waiting('ErrImagePull', 'rpc error: code = Unknown desc = no route to host'))],
    says: [
      'hello is not ready (for 30 s): image "proxy:1" cannot be pulled.',
      'The pull of "proxy:1" for sidecar proxy failed: no route to host.',
      'This machine has no way to the registry.',
      'It is being tried again.',
    ],
  },
};

for (const [name, { spec, init, events = [], says }] of Object.entries(cases)) {
  test(`why() of init containers: ${name}`, () => {
    const report = reportWith({
      unreadyFor: 30,
      spec: { initContainers: spec ?? [{ name: 'fetch', image: 'fetch:1' }, migrate, proxy] },
      status: { phase: 'Pending', initContainerStatuses: init, containerStatuses: [statusOf('web', later)] },
      report: { events: events.map((each) => event(...each)) },
    });
    assert.deepEqual(why(report, NOW), says);
  });
}
