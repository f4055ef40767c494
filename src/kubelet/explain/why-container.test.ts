import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  ago,
  type Change,
  ended,
  event,
  killed,
  NOW,
  reportWith,
  running,
  statusOf,
  step,
  waiting,
} from './fake/reports.ts';
import { why } from './why.ts';

const probe = { httpGet: { path: '/', port: 80 }, periodSeconds: 5, failureThreshold: 3, successThreshold: 1 };
const unhealthy = (probe: 'startup' | 'readiness' | 'liveness', output: string, seconds: number) =>
  event('Unhealthy', '', ago(seconds), { cause: { kind: 'probeFailed', probe, output } });
const backoff = event('BackOff', '', ago(1), { cause: { kind: 'crashBackoff', delayMs: 80_000 } });
const crashed = (seconds: number, exitCode: number, message?: string, reason?: string) => ({
  state: waiting('CrashLoopBackOff', 'back-off 1m20s restarting failed container=web pod=hello_default(u1)'),
  lastState: ended(seconds, exitCode, message, reason),
  restartCount: 3,
});

const hookError =
  'Exec lifecycle hook ([no]) for Container "web" in Pod "hello_default(u1)" failed - error: ' +
  `command 'no' exited with 9: no\n, message: "no\\n"`;

const cases: Record<string, { given: Change; says: readonly string[] }> = {
  'its postStart hook fails each time': {
    given: {
      unreadyFor: 30,
      container: crashed(20, 137),
      progress: { backoffEndsMs: ago(-60), nextSyncMs: ago(-60) },
      report: {
        events: [killed('postStartHookFailed', ago(22))],
        steps: [step('postStart hook', 'web', ago(22), 40, hookError), step('stop container', 'web', ago(22), 2000)],
      },
    },
    says: [
      'hello is not ready (for 30 s): container web keeps ending.',
      'Container web has ended 4 times.',
      'The last time, it ended 20 s ago with exit code 137 (SIGKILL), killed because its postStart hook failed.',
      "The hook failed: command 'no' exited with 9: no.",
      'It starts again in 60 s (back-off 1m20s).',
    ],
  },
  'it is being stopped for its probe': {
    given: {
      unreadyFor: 3,
      report: {
        events: [
          unhealthy('liveness', 'the output of the previous run', 90),
          event('Started', 'Container started', ago(60)),
          unhealthy('liveness', 'connection refused', 2),
          killed('livenessFailed', ago(2)),
        ],
        steps: [step('stop container', 'web', ago(2))],
      },
    },
    says: [
      'hello is not ready (for 3 s): it is stopping container web, because it failed its liveness probe: "connection refused".',
      'It has been stopping container web for 2 s, because it failed its liveness probe: "connection refused".',
    ],
  },
  'its image cannot be pulled': {
    given: {
      unreadyFor: 30,
      container: {
        state: waiting(
          'ImagePullBackOff',
          'Back-off pulling image "nginx:1": ErrImagePull: rpc error: code = NotFound desc = nginx:1: not found',
        ),
      },
      progress: { backoffEndsMs: ago(-8), nextSyncMs: ago(-8) },
    },
    says: [
      'hello is not ready (for 30 s): image "nginx:1" cannot be pulled.',
      'The pull of "nginx:1" for container web failed: nginx:1: not found.',
      'The registry answers, but has no image of that name and tag.',
      'It is tried again in 8 s.',
    ],
  },
  'its image may not be pulled': {
    given: {
      unreadyFor: 30,
      container: {
        state: waiting('ErrImageNeverPull', 'Container image "nginx:1" is not present with pull policy of Never'),
      },
      progress: { nextSyncMs: ago(-12) },
    },
    says: [
      'hello is not ready (for 30 s): image "nginx:1" is not on this machine.',
      'Container web needs image "nginx:1", and its pull policy is Never: it has to be brought here by other means.',
      'It is tried again in 12 s.',
    ],
  },
  'its image has no proper name': {
    given: {
      unreadyFor: 30,
      web: { image: 'NGINX' },
      container: {
        state: waiting(
          'InvalidImageName',
          'Failed to apply default image tag "NGINX": couldn\'t parse image name "NGINX": invalid reference format',
        ),
      },
      progress: { nextSyncMs: ago(-12) },
    },
    says: [
      'hello is not ready (for 30 s): "NGINX" is not the name of an image.',
      'Container web cannot start: Failed to apply default image tag "NGINX": couldn\'t parse image name "NGINX": invalid reference format.',
      'It is tried again in 12 s.',
    ],
  },
  'two images cannot be pulled': {
    given: {
      unreadyFor: 30,
      spec: {
        containers: [
          { name: 'web', image: 'a:1' },
          { name: 'log', image: 'b:1' },
        ],
      },
      status: {
        containerStatuses: [
          statusOf('web', waiting('ErrImagePull', 'a:1: not found')),
          statusOf('log', waiting('ErrImagePull', 'b:1: not found')),
        ],
      },
      progress: { backoffEndsMs: ago(-8), nextSyncMs: ago(-8) },
    },
    says: [
      'hello is not ready (for 30 s): image "a:1" cannot be pulled.',
      'The pull of "a:1" for container web failed: a:1: not found.',
      'The registry answers, but has no image of that name and tag.',
      'The pull of "b:1" for container log failed: b:1: not found.',
      'The registry answers, but has no image of that name and tag.',
      'It is tried again in 8 s at the earliest.',
    ],
  },
  'its image wants credentials, and its pull secret is missing': {
    given: {
      unreadyFor: 30,
      container: { state: waiting('ErrImagePull', '401 Unauthorized') },
      report: {
        events: [
          event(
            'FailedToRetrieveImagePullSecret',
            'Unable to retrieve some image pull secrets (login); attempting to pull the image may not succeed.',
            ago(1),
            { cause: { kind: 'pullSecretsUnavailable', names: ['login'] } },
          ),
        ],
      },
      progress: { backoffEndsMs: ago(-8), nextSyncMs: ago(-8) },
    },
    says: [
      'hello is not ready (for 30 s): image "nginx:1" cannot be pulled.',
      'The pull of "nginx:1" for container web failed: 401 Unauthorized.',
      'The registry wants credentials, or other ones: a Secret that has them can be named under imagePullSecrets.',
      'It was tried without pull secrets that are missing or cannot be read: login.',
      'It is tried again in 8 s.',
    ],
  },
  'the runtime cannot create its container': {
    given: {
      unreadyFor: 5,
      container: { state: waiting('CreateContainerError', 'failed to reserve container name') },
      progress: { nextSyncMs: ago(-10) },
    },
    says: [
      'hello is not ready (for 5 s): container web cannot be created.',
      'Container web could not be created: failed to reserve container name.',
      'It is tried again in 10 s.',
    ],
  },
  'its postStart hook fails': {
    given: {
      unreadyFor: 5,
      container: {
        state: waiting(
          'PostStartHookError',
          `Exec lifecycle hook ([x]) for Container "web" in Pod "p" failed - error: command 'x' exited with 3: no way`,
        ),
      },
      progress: { nextSyncMs: ago(-10) },
    },
    says: [
      'hello is not ready (for 5 s): the postStart hook of container web failed.',
      "The postStart hook of container web failed, and so it was killed: command 'x' exited with 3: no way.",
      'It is tried again in 10 s.',
    ],
  },
  'its container crashes': {
    given: { unreadyFor: 42, container: crashed(42, 1, 'cannot reach the\n database') },
    says: [
      'hello is not ready (for 42 s): container web keeps ending.',
      'Container web has ended 4 times.',
      'The last time, it ended 42 s ago with exit code 1: "cannot reach the database".',
      'It starts again in 38 s (back-off 1m20s).',
    ],
  },
  'its container crashes without a message': {
    given: { unreadyFor: 42, container: crashed(42, 127) },
    says: [
      'hello is not ready (for 42 s): container web keeps ending.',
      'Container web has ended 4 times.',
      'The last time, it ended 42 s ago with exit code 127 (its command was not found).',
      'It starts again in 38 s (back-off 1m20s).',
      'Its log may say more: nodelet logs hello -c web',
    ],
  },
  'its container exits with 0': {
    given: { unreadyFor: 42, container: crashed(42, 0, undefined, 'Completed') },
    says: [
      'hello is not ready (for 42 s): container web keeps ending.',
      'Container web has ended 4 times.',
      'The last time, it ended 42 s ago with exit code 0.',
      'It ends without an error, but its restart policy is Always: it is expected to go on running.',
      'It starts again in 38 s (back-off 1m20s).',
    ],
  },
  'its container is out of memory': {
    given: {
      unreadyFor: 42,
      web: { resources: { limits: { memory: '64Mi' } } },
      container: crashed(42, 137, undefined, 'OOMKilled'),
    },
    says: [
      'hello is not ready (for 42 s): container web keeps ending.',
      'Container web has ended 4 times.',
      'The last time, it was killed 42 s ago for its use of memory (OOMKilled): it needs more than its limit of 64Mi.',
      'It starts again in 38 s (back-off 1m20s).',
    ],
  },
  'its command does not exist': {
    given: { unreadyFor: 42, container: crashed(42, 128, 'exec: "/no/such": no such file or directory', 'StartError') },
    says: [
      'hello is not ready (for 42 s): container web cannot be started.',
      'The start of container web was tried 4 times.',
      'The last time, it could not be started 42 s ago: exec: "/no/such": no such file or directory.',
      'It starts again in 38 s (back-off 1m20s).',
    ],
  },
  'its liveness probe ended its container': {
    given: {
      unreadyFor: 42,
      container: crashed(42, 137),
      report: {
        events: [
          unhealthy('liveness', 'the output of the previous run', 90),
          unhealthy('liveness', 'HTTP probe failed with statuscode: 500', 44),
          killed('livenessFailed', ago(44)),
        ],
      },
    },
    says: [
      'hello is not ready (for 42 s): container web keeps failing its liveness probe.',
      'Container web has ended 4 times.',
      'The last time, it ended 42 s ago with exit code 137 (SIGKILL), killed because it failed its liveness probe: "HTTP probe failed with statuscode: 500".',
      'It starts again in 38 s (back-off 1m20s).',
      'Its log may say more: nodelet logs hello -c web',
    ],
  },
  'its container exits with 0 when it is killed for its probe': {
    given: {
      unreadyFor: 42,
      container: crashed(42, 0, 'bye', 'Completed'),
      report: {
        events: [unhealthy('startup', 'the answer is 42', 44), killed('startupFailed', ago(44))],
      },
    },
    says: [
      'hello is not ready (for 42 s): container web keeps failing its startup probe.',
      'Container web has ended 4 times.',
      'The last time, it ended 42 s ago with exit code 0, killed because it failed its startup probe: "the answer is 42"; its own output: "bye".',
      'It starts again in 38 s (back-off 1m20s).',
    ],
  },
  'its container exits with 0 when it is killed for a new definition': {
    given: {
      unreadyFor: 42,
      container: crashed(42, 0, undefined, 'Completed'),
      report: { events: [killed('definitionChanged', ago(44))] },
    },
    says: [
      'hello is not ready (for 42 s): container web keeps ending.',
      'Container web has ended 4 times.',
      'The last time, it ended 42 s ago with exit code 0, killed because its definition changed.',
      'It starts again in 38 s (back-off 1m20s).',
    ],
  },
  'its readiness probe fails': {
    given: {
      unreadyFor: 600,
      web: { readinessProbe: probe },
      report: {
        events: [
          event('Started', 'Container started', ago(599)),
          unhealthy('readiness', 'HTTP probe failed with statuscode: 500', 8),
          unhealthy('readiness', 'HTTP probe failed with statuscode: 503', 3),
        ],
      },
    },
    says: [
      'hello is not ready (for 10 min): container web fails its readiness probe.',
      'Container web runs, but its readiness probe has failed twice, the last time 3 s ago: "HTTP probe failed with statuscode: 503".',
    ],
  },
  'its readiness probe fails for longer than events are kept': {
    given: {
      unreadyFor: 600,
      web: { readinessProbe: probe },
      report: { events: [13, 8, 3].map((seconds) => unhealthy('readiness', 'no', seconds)) },
    },
    says: [
      'hello is not ready (for 10 min): container web fails its readiness probe.',
      'Container web runs, but its readiness probe has failed at least 3 times, the last time 3 s ago: "no".',
    ],
  },
  'its readiness probe has not begun': {
    given: {
      unreadyFor: 4,
      web: { readinessProbe: { ...probe, initialDelaySeconds: 30 } },
      container: { state: running(4) },
    },
    says: [
      'hello is not ready (for 4 s): the readiness probe of container web has not succeeded yet.',
      'Container web runs, but its readiness probe has not checked it yet: its first check comes in 26 s.',
    ],
  },
  'its startup probe has not succeeded': {
    given: {
      unreadyFor: 20,
      web: { startupProbe: { ...probe, failureThreshold: 30 }, readinessProbe: probe },
      container: { started: false, state: running(20) },
      report: {
        events: [event('Started', 'Container started', ago(20)), unhealthy('startup', 'connection refused', 3)],
      },
    },
    says: [
      'hello is not ready (for 20 s): container web fails its startup probe.',
      'Container web runs, but its startup probe has failed once, 3 s ago: "connection refused".',
      'After 30 failures in a row it is killed.',
    ],
  },
  'a liveness probe begins to fail': {
    given: {
      web: { livenessProbe: probe },
      report: { events: [event('Started', '', ago(599)), unhealthy('liveness', 'timeout', 2)] },
    },
    says: [
      'hello is running and ready (for 10 min).',
      'The liveness probe of container web has failed once, 2 s ago: "timeout".',
      'After 3 failures in a row it is restarted.',
    ],
  },
  'it is ready again after a restart': {
    given: { container: { restartCount: 2, lastState: ended(620, 1, 'boom') } },
    says: [
      'hello is running and ready (for 10 min).',
      'Container web was restarted twice; the one before ended 10 min 20 s ago with exit code 1: "boom".',
    ],
  },
  'its deadline comes before another try': {
    given: {
      unreadyFor: 30,
      spec: { activeDeadlineSeconds: 620 },
      container: { state: waiting('ErrImagePull', 'nginx:1: not found') },
      progress: { backoffEndsMs: ago(-20), nextSyncMs: ago(-20) },
    },
    says: [
      'hello is not ready (for 30 s): image "nginx:1" cannot be pulled.',
      'The pull of "nginx:1" for container web failed: nginx:1: not found.',
      'The registry answers, but has no image of that name and tag.',
      'It is not tried again before its deadline.',
      'It may be active for 10 min 20 s in all: it is ended in 20 s.',
    ],
  },
  'one of its containers is done': {
    given: {
      unreadyFor: 60,
      spec: { restartPolicy: 'OnFailure' },
      container: { state: ended(60, 0, undefined, 'Completed') },
    },
    says: ['hello is not ready (for 60 s): container web has ended.', 'Container web ended 60 s ago with exit code 0.'],
  },
};

for (const [name, { given, says }] of Object.entries(cases)) {
  test(`why() of a container: ${name}`, () => {
    const report = reportWith(given);
    const isInBackoff = given.container?.state?.waiting?.reason === 'CrashLoopBackOff';
    assert.deepEqual(why(isInBackoff ? { ...report, events: [...report.events, backoff] } : report, NOW), says);
  });
}
