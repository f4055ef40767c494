import assert from 'node:assert/strict';
import { test } from 'node:test';
import { observedOf, reportOf, runningContainer } from '../local-api/fake/scripted-view.ts';
import { ago, type Change, ended, NOW, reportWith, running, statusOf, step } from './fake/reports.ts';
import { why } from './why.ts';

const live = (...names: string[]) =>
  observedOf(
    reportWith({}).pod,
    names.map((name) => runningContainer(name, name, '')),
  );
const sidecar = { name: 'proxy', image: 'proxy:1', restartPolicy: 'Always' };

const cases: Record<string, { given: Change; says: readonly string[] }> = {
  'it has just been asked to end': {
    given: {
      progress: { phaseSinceMs: ago(1), removed: true, graceEndsMs: ago(-29) },
      report: { worker: 'terminating', observed: live('web'), steps: [step('stop container', 'web', ago(1))] },
    },
    says: [
      'hello is ending (for 1 s): it left its source, or was stopped by hand.',
      'What still runs is killed in 29 s.',
      'Container web was asked to end 1 s ago.',
    ],
  },
  'a container does not end, and a sidecar waits for it': {
    given: {
      metadata: { deletionTimestamp: '2026-01-01T00:00:00Z' },
      spec: { initContainers: [sidecar] },
      progress: { phaseSinceMs: ago(12), removed: false, graceEndsMs: ago(-18) },
      report: {
        worker: 'terminating',
        observed: live('web', 'proxy'),
        steps: [step('stop container', 'web', ago(12))],
      },
    },
    says: [
      'hello is ending (for 12 s): it was deleted.',
      'What still runs is killed in 18 s.',
      'Container web was asked to end 12 s ago and still runs: it ignores SIGTERM, or needs the time.',
      'Sidecar proxy runs until the others have ended.',
    ],
  },
  'a preStop hook takes its time': {
    given: {
      progress: { phaseSinceMs: ago(5), removed: true, graceEndsMs: ago(-25) },
      report: { worker: 'terminating', observed: live('web'), steps: [step('preStop hook', 'web', ago(5))] },
    },
    says: [
      'hello is ending (for 5 s): it left its source, or was stopped by hand.',
      'What still runs is killed in 25 s.',
      'Container web still runs: its preStop hook has been running for 5 s.',
    ],
  },
  'its grace period is over': {
    given: {
      progress: { phaseSinceMs: ago(31), removed: true, graceEndsMs: ago(1) },
      report: { worker: 'terminating', observed: live('web'), steps: [step('stop container', 'web', ago(31))] },
    },
    says: [
      'hello is ending (for 31 s): it left its source, or was stopped by hand.',
      'Its time to end (30 s) is over: what still runs is being killed.',
      'Container web was asked to end 31 s ago and still runs: it ignores SIGTERM, or needs the time.',
    ],
  },
  'its containers are gone, its sandbox is not': {
    given: {
      progress: { phaseSinceMs: ago(4), removed: true },
      report: { worker: 'terminating', observed: live(), steps: [step('stop sandbox', undefined, ago(2))] },
    },
    says: [
      'hello is ending (for 4 s): it left its source, or was stopped by hand.',
      'It has been stopping its sandbox for 2 s.',
    ],
  },
  'it cannot be stopped': {
    given: {
      progress: {
        phaseSinceMs: ago(50),
        removed: true,
        nextSyncMs: ago(-7),
        lastError: { error: 'containers still run: web', atMs: ago(6), consecutive: 2 },
      },
      report: { worker: 'terminating', observed: live('web') },
    },
    says: [
      'hello is ending (for 50 s): it left its source, or was stopped by hand.',
      'Container web still runs.',
      'Its last sync failed 6 s ago, 2 times in a row: containers still run: web.',
      'It is tried again in 7 s.',
    ],
  },
  'it is being evicted': {
    given: {
      status: { phase: 'Failed', reason: 'Evicted', message: 'The node was low on resource: memory. ' },
      progress: { phaseSinceMs: ago(1), graceEndsMs: ago(-1) },
      report: { worker: 'terminating', observed: live('web'), steps: [step('stop container', 'web', ago(1))] },
    },
    says: [
      'hello is ending (for 1 s): Evicted (The node was low on resource: memory).',
      'What still runs is killed in 1 s.',
      'Container web was asked to end 1 s ago.',
    ],
  },
  'an error before its end does not count': {
    given: {
      progress: {
        phaseSinceMs: ago(1),
        removed: true,
        lastError: { error: 'no network', atMs: ago(3), consecutive: 4 },
      },
      report: { worker: 'terminating' },
    },
    says: ['hello is ending (for 1 s): it left its source, or was stopped by hand.'],
  },
  'its resources cannot be released': {
    given: {
      container: { state: ended(9, 143) },
      progress: {
        phaseSinceMs: ago(8),
        nextSyncMs: ago(-4),
        lastError: { error: 'cannot unmount /data: EBUSY', atMs: ago(7), consecutive: 1 },
      },
      report: { worker: 'terminated' },
    },
    says: [
      'hello has stopped, and its resources are being released.',
      'Its last sync failed 7 s ago: cannot unmount /data: EBUSY.',
      'It is tried again in 4 s.',
      'Container web ended 9 s ago with exit code 143 (SIGTERM).',
    ],
  },
  'it is done': {
    given: {
      spec: { restartPolicy: 'Never' },
      status: { phase: 'Succeeded', containerStatuses: [statusOf('web', ended(180, 0, undefined, 'Completed'))] },
      report: { worker: 'finished' },
    },
    says: ['hello is done: every container ended without an error.', 'Container web ended 3 min ago with exit code 0.'],
  },
  'it has failed': {
    given: {
      spec: { restartPolicy: 'Never' },
      status: { phase: 'Failed', containerStatuses: [statusOf('web', ended(180, 1, 'boom'))] },
      report: { worker: 'finished' },
    },
    says: [
      'hello has failed: container web (exit code 1).',
      'Container web ended 3 min ago with exit code 1: "boom".',
      'Its restart policy is Never, so nothing is tried again.',
    ],
  },
  'it was active for too long': {
    given: {
      spec: { activeDeadlineSeconds: 90 },
      status: {
        phase: 'Failed',
        reason: 'DeadlineExceeded',
        message: 'Pod was active on the node longer than the specified deadline',
        containerStatuses: [statusOf('web', ended(30, 137))],
      },
      report: { worker: 'finished' },
    },
    says: [
      'hello has failed: it was active for longer than its deadline of 90 s.',
      'Container web ended 30 s ago with exit code 137 (SIGKILL).',
    ],
  },
  'it was evicted': {
    given: {
      status: {
        phase: 'Failed',
        reason: 'Evicted',
        message: 'The node was low on resource: memory.',
        containerStatuses: [statusOf('web', ended(30, 137))],
      },
      report: { worker: 'finished' },
    },
    says: [
      'hello was evicted.',
      'The reason: The node was low on resource: memory.',
      'Container web ended 30 s ago with exit code 137 (SIGKILL).',
    ],
  },
  'it was evicted for its own storage': {
    given: {
      status: {
        phase: 'Failed',
        reason: 'Evicted',
        message: 'Usage of EmptyDir volume "data" exceeds the limit "1Gi". ',
      },
      report: {
        worker: 'finished',
        events: [
          {
            type: 'Warning',
            reason: 'Evicted',
            message: '',
            fieldPath: undefined,
            atMs: ago(9),
            cause: { kind: 'storageLimitExceeded', violation: { kind: 'emptyDir', volume: 'data', limit: '1Gi' } },
          },
        ],
      },
    },
    says: [
      'hello was evicted: its volume data has more than its limit of 1Gi.',
      'The reason: Usage of EmptyDir volume "data" exceeds the limit "1Gi".',
    ],
  },
  'the end of a container was not seen': {
    given: {
      status: {
        phase: 'Failed',
        containerStatuses: [
          statusOf('web', { terminated: { exitCode: 137, reason: 'ContainerStatusUnknown', message: 'not located' } }),
        ],
      },
      report: { worker: 'finished' },
    },
    says: [
      'hello has failed: container web (exit code 137).',
      'Container web is gone: the runtime has no record of it.',
    ],
  },
  'its dead containers are being removed': {
    given: {
      progress: { removed: true },
      container: { state: ended(2, 0, undefined, 'Completed') },
      report: { worker: 'finished', steps: [step('remove', undefined, ago(2))] },
    },
    says: [
      'hello has ended.',
      'It has been removing its dead containers for 2 s.',
      'Container web ended 2 s ago with exit code 0.',
    ],
  },
  'it has failed, and its worker has not noticed': {
    given: { status: { phase: 'Failed', containerStatuses: [statusOf('web', running(1))] } },
    says: ['hello has failed.'],
  },
};

for (const [name, { given, says }] of Object.entries(cases)) {
  test(`why() at the end: ${name}`, () => assert.deepEqual(why(reportWith(given), NOW), says));
}

test('why() of a rejected pod', () => {
  const message = 'Pod was rejected: spec.volumes[0].nfs is not supported yet';
  const { pod } = reportWith({});
  const status = { phase: 'Failed', reason: 'PodFeatureUnsupported', message };
  assert.deepEqual(why(reportOf(pod, { worker: 'finished', status }), NOW), [
    'hello was rejected by this node (PodFeatureUnsupported), so nothing of it was started.',
    'The reason: spec.volumes[0].nfs is not supported yet.',
    'It is checked again when its manifest changes.',
  ]);
});
