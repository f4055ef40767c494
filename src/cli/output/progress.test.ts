import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Pod, PodStatus } from '../../api/generated/core-v1.ts';
import type { Step, StepOutcome } from '../../kubelet/events/timeline.ts';
import type { AgentEvent } from '../../kubelet/explain/agent-view.ts';
import type { ErrorCause, EventCause, KillCause } from '../../kubelet/pod/pod-cause.ts';
import { Progress } from './progress.ts';

const BEGAN = 1000;
const IMAGE = 'localhost/nodelet/busybox:1';

const pod: Pod = {
  metadata: {
    name: 'hello-box',
    namespace: 'default',
    uid: 'u1',
    annotations: { 'kubernetes.io/config.source': 'file' },
  },
  spec: {
    initContainers: [{ name: 'prepare' }, { name: 'proxy', restartPolicy: 'Always' }],
    containers: [{ name: 'web', ports: [{ containerPort: 8080 }, { containerPort: 53, protocol: 'UDP' }] }],
  },
};

const step = (name: Step['name'], subject: string | undefined, outcome: StepOutcome): AgentEvent => ({
  kind: 'step',
  pod,
  step: { name, subject, startedMs: BEGAN, outcome },
});
const done = (name: Step['name'], subject?: string): AgentEvent => step(name, subject, { kind: 'done', tookMs: 42 });
const failed = (name: Step['name'], error: string, cause?: ErrorCause): AgentEvent =>
  step(name, 'web', { kind: 'failed', tookMs: 42, error, cause });
const recorded = (type: 'Normal' | 'Warning', reason: string, message: string, cause?: EventCause): AgentEvent => ({
  kind: 'event',
  pod,
  event: { type, reason, message, fieldPath: 'spec.containers{web}', atMs: BEGAN, cause },
});
const killing = (cause: KillCause): AgentEvent => recorded('Normal', 'Killing', '', { kind: 'kill', cause });
/** The same event of a pod that runs to completion. */
const ofJob = (event: AgentEvent): AgentEvent =>
  event.kind === 'manifest' ? event : { ...event, pod: { ...pod, spec: { ...pod.spec, restartPolicy: 'Never' } } };
const status = (value: PodStatus): AgentEvent => ({ kind: 'status', pod, status: value });
const container = { name: 'web', image: IMAGE, imageID: '', ready: false, restartCount: 0 };
const ready: PodStatus = { conditions: [{ type: 'Ready', status: 'True' }], podIPs: [{ ip: '10.87.0.5' }] };

const cases: Record<string, { events: AgentEvent[]; lines: string[] }> = {
  'shows a start step by step': {
    events: [
      step('sandbox', undefined, { kind: 'running' }),
      done('directories'),
      done('cgroup'),
      done('volumes'),
      done('sandbox'),
      recorded('Normal', 'Pulled', 'Container image already present', { kind: 'imagePresent', image: IMAGE }),
      done('image', IMAGE),
      done('create container', 'prepare'),
      done('start container', 'prepare'),
      status({ initContainerStatuses: [{ ...container, name: 'prepare', state: { terminated: { exitCode: 0 } } }] }),
      done('start container', 'proxy'),
      done('image', IMAGE),
      done('start container', 'web'),
      status(ready),
    ],
    lines: [
      'hello  ✓ sandbox    42 ms',
      `hello  ✓ image      ${IMAGE}  already here  42 ms`,
      'hello  ✓ init       prepare  exit 0  1.5 s',
      'hello  ✓ sidecar    proxy  42 ms',
      'hello  ✓ container  web  42 ms',
      'hello  ● ready in 1.5 s',
      'hello    IP 10.87.0.5',
      'hello    curl http://10.87.0.5:8080/',
    ],
  },
  'shows that a pull has begun': {
    events: [
      recorded('Normal', 'Pulling', 'Pulling image', { kind: 'imagePulling', image: 'web:2' }),
      done('image', 'web:2'),
    ],
    lines: ['hello  … image      web:2  pulling', 'hello  ✓ image      web:2  42 ms'],
  },
  'shows an error once, whether by its step, by its event or again': {
    events: [
      recorded('Warning', 'Failed', 'Failed to pull image "web:2": no such host'),
      failed('image', 'no such host'),
      recorded('Warning', 'Failed', 'Error: ErrImagePull'),
      failed('image', 'Back-off pulling image "web:2": ErrImagePull: no such host'),
      failed('volumes', 'MountVolume.SetUp failed for volume "v" : configmap "c" not found', {
        kind: 'volumeFailed',
        volume: 'v',
        cause: { kind: 'objectNotFound', object: 'configmap', name: 'c' },
      }),
      recorded('Warning', 'FailedMount', 'MountVolume.SetUp failed for volume "v" : configmap "c" not found'),
      recorded('Warning', 'FailedMount', 'MountVolume.SetUp failed for volume "w" : secret "s" not found'),
      failed('start container', 'exec format error'),
      recorded('Warning', 'Failed', 'Error: exec format error'),
      failed('start container', 'exec format error'),
    ],
    lines: [
      'hello  ✗ image      web  no such host',
      'hello  ✗ volumes    web  volume "v" needs ConfigMap "c", which does not exist',
      'hello  ! volumes    web  volume "w": secret "s" not found',
      'hello  ✗ container  web  exec format error',
    ],
  },
  'shows a failed hook on one line': {
    events: [
      failed(
        'postStart hook',
        `Exec lifecycle hook ([sh -c no]) for Container "web" in Pod "hello-box_default(u1)" failed - error: command 'sh -c no' exited with 9: no\n, message: "no\\n"`,
      ),
      recorded('Warning', 'FailedPostStartHook', 'PostStartHook failed'),
      killing('postStartHookFailed'),
    ],
    lines: [
      "hello  ✗ postStart  web  command 'sh -c no' exited with 9: no",
      'hello  ! stopping   web  its postStart hook failed',
    ],
  },
  'shows each restart for a failed probe in order': {
    events: [
      done('start container', 'web'),
      ...[1, 2].flatMap((restartCount) => [
        recorded('Warning', 'Unhealthy', 'Liveness probe failed: '),
        killing('livenessFailed'),
        done('stop container', 'web'),
        done('start container', 'web'),
        status({
          containerStatuses: [
            { ...container, restartCount, state: { running: {} }, lastState: { terminated: { exitCode: 137 } } },
          ],
        }),
      ]),
    ],
    lines: [
      'hello  ✓ container  web  42 ms',
      'hello  ! probe      web  Liveness probe failed',
      'hello  ! stopping   web  it failed its liveness probe',
      'hello  ✓ stop       web  42 ms',
      'hello  ✓ container  web  42 ms',
      'hello  ! stopping   web  it failed its liveness probe',
      'hello  ✓ stop       web  42 ms',
      'hello  ✓ container  web  42 ms',
    ],
  },
  'shows a back-off once': {
    events: [
      recorded('Warning', 'BackOff', 'Back-off restarting failed container web in pod hello-box_default(u1)'),
      recorded('Warning', 'BackOff', 'Back-off restarting failed container web in pod hello-box_default(u1)'),
    ],
    lines: ['hello  ! back-off   web  keeps ending: each restart waits longer'],
  },
  'shows each end of a container and the start after it': {
    events: [
      done('start container', 'web'),
      status({ containerStatuses: [{ ...container, state: { terminated: { exitCode: 137, reason: 'OOMKilled' } } }] }),
      done('start container', 'web'),
      status({
        containerStatuses: [
          { ...container, restartCount: 1, lastState: { terminated: { exitCode: 137, reason: 'OOMKilled' } } },
        ],
      }),
    ],
    lines: [
      'hello  ✓ container  web  42 ms',
      'hello  ! container  web  exit 137 (OOMKilled)  1.5 s',
      'hello  ✓ container  web  42 ms',
    ],
  },
  'shows each end of a container that cannot be started once': {
    events: [0, 1].flatMap((restartCount) => [
      status({
        containerStatuses: [
          {
            ...container,
            restartCount,
            state: { waiting: { reason: 'RunContainerError' } },
            lastState: { terminated: { exitCode: 128, reason: 'StartError' } },
          },
        ],
      }),
      status({
        containerStatuses: [
          { ...container, restartCount, state: { terminated: { exitCode: 128, reason: 'StartError' } } },
        ],
      }),
      status({
        containerStatuses: [
          {
            ...container,
            restartCount,
            state: { waiting: { reason: 'CrashLoopBackOff' } },
            lastState: { terminated: { exitCode: 128, reason: 'StartError' } },
          },
        ],
      }),
    ]),
    lines: ['hello  ! container  web  exit 128 (StartError)', 'hello  ! container  web  exit 128 (StartError)'],
  },
  'shows when a pod stops being ready': {
    events: [status(ready), status({}), status(ready)],
    lines: [
      'hello  ● ready',
      'hello    IP 10.87.0.5',
      'hello    curl http://10.87.0.5:8080/',
      'hello  ○ not ready any more',
      'hello  ● ready',
    ],
  },
  'shows that a pod with a sidecar is done': {
    events: [
      ofJob(status(ready)),
      ofJob(status({ containerStatuses: [{ ...container, state: { terminated: { exitCode: 0 } } }] })),
      ofJob(killing('podStopping')),
      ofJob(done('stop container', 'proxy')),
      ofJob(done('stop sandbox')),
      ofJob(
        status({
          phase: 'Succeeded',
          initContainerStatuses: [{ ...container, name: 'proxy', state: { terminated: { exitCode: 143 } } }],
          containerStatuses: [{ ...container, state: { terminated: { exitCode: 0 } } }],
        }),
      ),
    ],
    lines: [
      'hello  ● ready',
      'hello    IP 10.87.0.5',
      'hello    curl http://10.87.0.5:8080/',
      'hello  ✓ container  web  exit 0',
      'hello  ✓ stop       proxy  42 ms',
      'hello  ✓ stop       sandbox  42 ms',
      'hello  ● done in 1.5 s',
    ],
  },
  'shows that a pod with a sidecar has failed': {
    events: [
      ofJob(status({ containerStatuses: [{ ...container, state: { terminated: { exitCode: 3 } } }] })),
      ofJob(killing('podStopping')),
      ofJob(status({ phase: 'Failed', containerStatuses: [{ ...container, state: { terminated: { exitCode: 3 } } }] })),
    ],
    lines: ['hello  ! container  web  exit 3', 'hello  ✗ failed'],
  },
  'shows no outcome of a pod with a sidecar that is stopped': {
    events: [
      ofJob(status({ containerStatuses: [{ ...container, state: { running: {} } }] })),
      ofJob(killing('podStopping')),
      ofJob(status({ containerStatuses: [{ ...container, state: { terminated: { exitCode: 0 } } }] })),
      ofJob(killing('podStopping')),
      ofJob(
        status({ phase: 'Succeeded', containerStatuses: [{ ...container, state: { terminated: { exitCode: 0 } } }] }),
      ),
      { kind: 'gone', pod },
    ],
    lines: ['hello  ○ gone'],
  },
  'shows why a pod failed': {
    events: [status({ phase: 'Failed', reason: 'OutOfcpu', message: 'Node did not have enough resource: cpu' })],
    lines: ['hello  ✗ failed: OutOfcpu: Node did not have enough resource: cpu'],
  },
  'does not repeat why a pod was rejected': {
    events: [
      recorded('Warning', 'PodFeatureUnsupported', 'spec.x is not supported yet'),
      status({
        phase: 'Failed',
        reason: 'PodFeatureUnsupported',
        message: 'Pod was rejected: spec.x is not supported yet',
      }),
    ],
    lines: ['hello  ! PodFeatureUnsupported web  spec.x is not supported yet', 'hello  ✗ rejected'],
  },
  'does not show steps that are abandoned because the pod is to end': {
    events: [
      failed('postStart hook', 'the pod is to end', { kind: 'podEnding' }),
      status(ready),
      done('stop container', 'web'),
    ],
    lines: ['hello  ✓ stop       web  42 ms'],
  },
  'shows the end of a pod': {
    events: [
      killing('podStopping'),
      failed('stop container', 'the pod is to end sooner'),
      recorded('Warning', 'Unhealthy', 'Readiness probe failed: connection refused'),
      done('stop container', 'web'),
      status({ containerStatuses: [{ ...container, state: { terminated: { exitCode: 143 } } }] }),
      done('stop sandbox'),
      done('remove'),
      { kind: 'gone', pod },
    ],
    lines: ['hello  ✓ stop       web  42 ms', 'hello  ✓ stop       sandbox  42 ms', 'hello  ○ gone'],
  },
  'shows an error of a manifest once, with a relative path': {
    events: [
      { kind: 'manifest', report: { source: '/home/me/a.yaml', errors: ['/home/me/a.yaml:3:5: no'] } },
      { kind: 'manifest', report: { source: '/home/me/a.yaml', errors: ['/home/me/a.yaml:3:5: no', 'EACCES'] } },
    ],
    lines: ['✗ a.yaml:3:5: no', '✗ a.yaml: EACCES'],
  },
};

for (const [name, { events, lines }] of Object.entries(cases)) {
  test(`Progress ${name}`, () => {
    const progress = new Progress({ nodeName: 'Box', nameWidth: 5, here: '/home/me' });
    assert.deepEqual(
      events.flatMap((event) => progress.lines(event, BEGAN + 1500)),
      lines,
    );
  });
}
