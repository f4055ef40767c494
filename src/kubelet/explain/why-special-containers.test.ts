import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ago, type Change, ended, NOW, reportWith, running, statusOf, waiting } from './fake/reports.ts';
import { why } from './why.ts';

const debug = { spec: { ephemeralContainers: [{ name: 'debug', targetContainerName: 'api' }] } };
const removed = 'The container is removed because RestartAllContainers in place';

const cases: Record<string, { given: Change; says: readonly string[] }> = {
  'an ephemeral container cannot find its target, and the pod is not ready for another reason': {
    given: {
      ...debug,
      unreadyFor: 30,
      container: { state: waiting('CreateContainerError', 'no space left'), lastState: {} },
      status: {
        ephemeralContainerStatuses: [
          statusOf('debug', waiting('CreateContainerConfigError', 'unable to find target container api')),
        ],
      },
      progress: { nextSyncMs: ago(-12) },
    },
    says: [
      'hello is not ready (for 30 s): container web cannot be created.',
      'Container web could not be created: no space left.',
      'Ephemeral container debug could not be created: unable to find target container api.',
      'It is tried again in 12 s.',
    ],
  },
  'an ephemeral container has ended in a pod that is well': {
    given: { ...debug, status: { ephemeralContainerStatuses: [statusOf('debug', ended(5, 1))] } },
    says: ['hello is running and ready (for 10 min).', 'Ephemeral container debug ended 5 s ago with exit code 1.'],
  },
  'all containers were restarted': {
    given: {
      container: {
        state: running(20),
        lastState: { terminated: { exitCode: 137, reason: 'RestartingAllContainers', message: removed } },
        restartCount: 1,
        ready: true,
      },
    },
    says: [
      'hello is running and ready (for 10 min).',
      'Container web was restarted once; the one before was removed when all containers of its pod were restarted.',
    ],
  },
};

for (const [name, { given, says }] of Object.entries(cases)) {
  test(`why() when ${name}`, () => assert.deepEqual(why(reportWith(given), NOW), says));
}
