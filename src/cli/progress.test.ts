import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Pod, PodStatus } from '../api/generated/core-v1.ts';
import type { StepOutcome } from '../kubelet/explain/timeline.ts';
import type { AgentEvent } from '../kubelet/server/agent-view.ts';
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

const step = (name: string, subject: string | undefined, outcome: StepOutcome): AgentEvent => ({
  kind: 'step',
  pod,
  step: { name, subject, startedMs: BEGAN, outcome },
});
const done = (name: string, subject?: string): AgentEvent => step(name, subject, { kind: 'done', tookMs: 42 });
const failed = (name: string, error: string): AgentEvent => step(name, 'web', { kind: 'failed', tookMs: 42, error });
const told = (type: 'Normal' | 'Warning', reason: string, message: string): AgentEvent => ({
  kind: 'event',
  pod,
  event: { type, reason, message, fieldPath: undefined, atMs: BEGAN },
});
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
      told('Normal', 'Pulled', `Container image "${IMAGE}" already present on machine and can be accessed by the pod`),
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
    events: [told('Normal', 'Pulling', 'Pulling image "web:2"'), done('image', 'web:2')],
    lines: ['hello  … image      web:2  pulling', 'hello  ✓ image      web:2  42 ms'],
  },
  'tells a failure once, whether the event or the step comes first': {
    events: [
      told('Warning', 'Failed', 'Failed to pull image "web:2": no such host'),
      failed('image', 'no such host'),
      failed('start container', 'exec format error'),
      told('Warning', 'Failed', 'Error: exec format error'),
      failed('start container', 'exec format error'),
    ],
    lines: [
      'hello  ! Failed     Failed to pull image "web:2": no such host',
      'hello  ✗ container  web  exec format error',
    ],
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
  'shows when a pod stops being ready': {
    events: [status({ ...ready, podIPs: [] }), status({}), status({ ...ready, podIPs: [] })],
    lines: ['hello  ● ready', 'hello  ○ not ready any more', 'hello  ● ready'],
  },
  'shows why a pod failed': {
    events: [status({ phase: 'Failed', reason: 'OutOfcpu', message: 'Node did not have enough resource: cpu' })],
    lines: ['hello  ✗ failed: OutOfcpu: Node did not have enough resource: cpu'],
  },
  'shows the end of a pod': {
    events: [
      told('Normal', 'Killing', 'Stopping container web'),
      failed('stop container', 'the pod is to end sooner'),
      told('Warning', 'Unhealthy', 'Readiness probe failed: connection refused'),
      done('stop container', 'web'),
      status({ containerStatuses: [{ ...container, state: { terminated: { exitCode: 143 } } }] }),
      done('stop sandbox'),
      done('remove'),
      { kind: 'gone', pod },
    ],
    lines: ['hello  ✓ stop       web  42 ms', 'hello  ✓ stop       sandbox  42 ms', 'hello  ○ gone'],
  },
  'tells a problem of a manifest once, by the name that the user knows': {
    events: [
      { kind: 'manifest', report: { source: '/home/me/a.yaml', problems: ['/home/me/a.yaml:3:5: no'] } },
      { kind: 'manifest', report: { source: '/home/me/a.yaml', problems: ['/home/me/a.yaml:3:5: no', 'EACCES'] } },
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
