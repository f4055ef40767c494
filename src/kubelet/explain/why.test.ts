import assert from 'node:assert/strict';
import { test } from 'node:test';
import { observedOf } from '../local-api/fake/scripted-view.ts';
import { ago, type Change, event, NOW, reportWith, running, statusOf, step, waiting } from './fake/reports.ts';
import { why } from './why.ts';

const sandbox = { attempt: 0, createdAt: 1n, hostNetwork: false, ips: ['10.87.0.5'], runtimeHandler: '' };

const startSteps = [
  {
    step: 'sandbox',
    lastHour: { count: 40, p50Ms: 80, p90Ms: 200, p99Ms: 400, maxMs: 450 },
    buckets: [],
    sumSeconds: 4,
    count: 40,
  },
] as const;

const cases: Record<string, { given: Change; says: readonly string[] }> = {
  'a healthy pod': {
    given: {},
    says: ['hello is running and ready (for 10 min).'],
  },
  'a static pod is called as in its manifest': {
    given: { metadata: { name: 'hello-box', annotations: { 'kubernetes.io/config.source': 'file' } } },
    says: ['hello is running and ready (for 10 min).'],
  },
  'another namespace is part of the name': {
    given: { metadata: { namespace: 'kube-system' } },
    says: ['kube-system/hello is running and ready (for 10 min).'],
  },
  'an older pod of its name is not gone': {
    given: {
      status: { phase: 'Pending', conditions: [], containerStatuses: [] },
      progress: { phaseSinceMs: ago(12) },
      report: { worker: 'waiting', waitsFor: { uid: 'u0', worker: 'terminating' } },
    },
    says: [
      'hello has not started: it waits until an older pod of its name is gone, and has waited for 12 s.',
      'The older pod (uid u0) is stopping its containers.',
    ],
  },
  'its image is being pulled': {
    given: {
      unreadyFor: 36,
      container: { state: waiting('ContainerCreating') },
      report: {
        steps: [step('sandbox', undefined, ago(36), 100), step('image', 'nginx:1', ago(34))],
        events: [event('Pulling', 'Pulling image "nginx:1"', ago(34))],
      },
    },
    says: [
      'hello is not ready (for 36 s): it is pulling image "nginx:1".',
      'It has been pulling image "nginx:1" for 34 s.',
    ],
  },
  'its sandbox is being created': {
    given: {
      unreadyFor: 3,
      container: { state: waiting('ContainerCreating') },
      report: { steps: [step('sandbox', undefined, ago(3))] },
    },
    says: ['hello is not ready (for 3 s): it is creating its sandbox.', 'It has been creating its sandbox for 3 s.'],
  },
  'its sandbox takes longer than usual': {
    given: {
      unreadyFor: 3,
      container: { state: waiting('ContainerCreating') },
      report: { steps: [step('sandbox', undefined, ago(3))], startSteps },
    },
    says: [
      'hello is not ready (for 3 s): it is creating its sandbox.',
      'It has been creating its sandbox for 3 s.',
      'On this node that usually takes 80 ms, and nine of ten times at most 200 ms.',
    ],
  },
  'its sandbox took longer than usual': {
    given: { report: { steps: [step('sandbox', undefined, ago(200), 4000)], startSteps } },
    says: [
      'hello is running and ready (for 10 min).',
      'The creation of its sandbox took 4 s.',
      'On this node that usually takes 80 ms, and nine of ten times at most 200 ms.',
    ],
  },
  'a slow step of long ago is left out': {
    given: { report: { steps: [step('sandbox', undefined, ago(400), 4000)], startSteps } },
    says: ['hello is running and ready (for 10 min).'],
  },
  'its sandbox cannot be created': {
    given: {
      unreadyFor: 60,
      container: { state: waiting('ContainerCreating') },
      report: { steps: [step('sandbox', undefined, ago(4), 1000, 'rpc error: code = Unknown desc = no CNI plugin')] },
      progress: {
        lastError: { error: 'rpc error: code = Unknown desc = no CNI plugin', atMs: ago(3), consecutive: 5 },
        nextSyncMs: ago(-9),
      },
    },
    says: [
      'hello is not ready (for 60 s): the creation of its sandbox fails.',
      'The creation of its sandbox failed 3 s ago, 5 times in a row: no CNI plugin.',
      'It is tried again in 9 s.',
    ],
  },
  'its runtime class does not exist': {
    given: {
      unreadyFor: 60,
      container: { state: waiting('ContainerCreating') },
      progress: {
        lastError: {
          error: 'runtimeclass.node.k8s.io "fast" not found',
          cause: { kind: 'runtimeClassNotFound', name: 'fast' },
          atMs: ago(3),
          consecutive: 1,
        },
        nextSyncMs: ago(-9),
      },
    },
    says: [
      'hello is not ready (for 60 s): there is no runtime class "fast".',
      'The creation of its sandbox failed 3 s ago: runtimeclass.node.k8s.io "fast" not found.',
      'A RuntimeClass of that name has to be at the API server, or in a manifest beside the pod.',
      'It is tried again in 9 s.',
    ],
  },
  'the network is not ready': {
    given: {
      unreadyFor: 20,
      container: { state: waiting('ContainerCreating') },
      progress: {
        lastError: {
          error:
            'network is not ready: container runtime network not ready: NetworkReady=false reason:NetworkPluginNotReady message:cni plugin not initialized',
          cause: { kind: 'networkNotReady' },
          atMs: ago(0.2),
          consecutive: 20,
        },
        nextSyncMs: ago(-0.8),
      },
    },
    says: [
      'hello is not ready (for 20 s): the network of the runtime is not ready.',
      'The creation of its sandbox failed just now, 20 times in a row: network is not ready: container runtime network not ready: NetworkReady=false reason:NetworkPluginNotReady message:cni plugin not initialized.',
      'It is tried again in 800 ms.',
    ],
  },
  'a volume cannot be prepared': {
    given: {
      unreadyFor: 8,
      container: { state: waiting('ContainerCreating') },
      report: {
        steps: [step('volumes', undefined, ago(2), 5, 'hostPath type check failed: /data is not a directory')],
      },
      progress: {
        lastError: { error: 'hostPath type check failed: /data is not a directory', atMs: ago(2), consecutive: 1 },
        nextSyncMs: ago(-11),
      },
    },
    says: [
      'hello is not ready (for 8 s): preparing its volumes fails.',
      'Preparing its volumes failed 2 s ago: hostPath type check failed: /data is not a directory.',
      'It is tried again in 11 s.',
    ],
  },
  'volumes wait': {
    given: {
      unreadyFor: 8,
      container: { state: waiting('ContainerCreating') },
      report: {
        steps: [step('volumes', undefined, ago(8))],
        pending: [
          {
            kind: 'volumeFailed',
            volume: 'data',
            cause: { kind: 'volumeNotAttached', persistentVolume: 'pv-1', isReported: true },
          },
          {
            kind: 'volumeFailed',
            volume: 'logs',
            cause: { kind: 'claimNotReady', claim: 'web-logs', error: 'PVC is not bound' },
          },
        ],
      },
    },
    says: [
      'hello is not ready (for 8 s): volume "data" waits until the attach-detach controller attaches pv-1.',
      'It has been preparing its volumes for 8 s.',
      'Volume "data" waits until the attach-detach controller attaches pv-1.',
      'Volume "logs" needs PersistentVolumeClaim "web-logs", which is not ready: PVC is not bound.',
    ],
  },
  'a readiness gate is closed': {
    given: {
      unreadyFor: 600,
      status: {
        containerStatuses: [statusOf('web', running(600), { ready: true })],
        conditions: [
          {
            type: 'Ready',
            status: 'False',
            reason: 'ReadinessGatesNotReady',
            message: 'corresponding condition of pod readiness gate "example.com/lb" does not exist.',
          },
        ],
      },
    },
    says: [
      'hello is not ready: a readiness gate is not open.',
      'Corresponding condition of pod readiness gate "example.com/lb" does not exist.',
    ],
  },
  'the runtime has two sandboxes': {
    given: {
      unreadyFor: 1,
      report: {
        observed: {
          ...observedOf(reportWith({}).pod, []),
          sandboxes: ['s2', 's1'].map((id) => ({ ...sandbox, id, ready: true })),
        },
      },
    },
    says: [
      'hello is not ready (for 1 s): the runtime has 2 sandboxes for it.',
      'The runtime has 2 live sandboxes for it (s2 and s1); they are replaced by a new one.',
    ],
  },
  'it has a deadline': {
    given: { spec: { activeDeadlineSeconds: 620 } },
    says: ['hello is running and ready (for 10 min).', 'It may be active for 10 min 20 s in all: it is ended in 20 s.'],
  },
  'nothing is known of it': {
    given: { unreadyFor: 2, container: { state: waiting('ContainerCreating') }, progress: { nextSyncMs: ago(-50) } },
    says: [
      'hello is not ready (for 2 s).',
      'Nothing is under way; its worker checks it again in 50 s, or when something changes.',
    ],
  },
};

for (const [name, { given, says }] of Object.entries(cases)) {
  test(`why() of a pod: ${name}`, () => assert.deepEqual(why(reportWith(given), NOW), says));
}
