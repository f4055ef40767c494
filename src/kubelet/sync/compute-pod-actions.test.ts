import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Container, PodSpec } from '../../api/generated/core-v1.ts';
import type { ObservedContainer, ObservedContainerState, ObservedSandbox } from '../observe/observed-pod.ts';
import type { ProbeKind, ProbeResult } from '../probes/probe-results.ts';
import { computePodActions } from './compute-pod-actions.ts';
import { containerHash } from './config/container-hash.ts';
import { NOTHING_TO_DO, type PodPlan } from './pod-plan.ts';

const web: Container = { name: 'web', image: 'busybox' };
const log: Container = { name: 'log', image: 'busybox' };
const first: Container = { name: 'first', image: 'busybox' };
const second: Container = { name: 'second', image: 'busybox' };
const side: Container = { name: 'side', image: 'busybox', restartPolicy: 'Always' };

const sandbox: ObservedSandbox = {
  id: 's0',
  attempt: 0,
  ready: true,
  createdAt: 1n,
  hostNetwork: false,
  ips: ['10.0.0.2'],
  runtimeHandler: '',
};

const running: ObservedContainerState = { state: 'running', startedAt: 2n };
const created: ObservedContainerState = { state: 'created' };
const unknown: ObservedContainerState = { state: 'unknown' };

function exited(exitCode: number): ObservedContainerState {
  return {
    state: 'exited',
    startedAt: 2n,
    finishedAt: 3n,
    exitCode,
    reason: exitCode ? 'Error' : 'Completed',
    message: '',
  };
}

function seen(container: Container, state: ObservedContainerState, hash = containerHash(container)): ObservedContainer {
  return {
    id: `id-${container.name}`,
    name: container.name,
    sandboxId: 's0',
    restartCount: 0,
    hash,
    image: 'busybox',
    imageRef: 'sha256:1',
    imageId: 'sha256:1',
    createdAt: 1n,
    logPath: '',
    terminationMessagePath: '/dev/termination-log',
    terminationMessagePolicy: 'File',
    terminationGracePeriodSeconds: 30,
    terminationMessageFile: undefined,
    ...state,
  };
}

interface Given {
  spec?: Partial<PodSpec>;
  sandboxes?: ObservedSandbox[];
  containers?: ObservedContainer[];
  probes?: Partial<Record<`${ProbeKind} ${string}`, ProbeResult>>;
}

/** A pod with one main container that runs, and nothing to do. */
function plan({ spec, sandboxes = [sandbox], containers = [seen(web, running)], probes = {} }: Given): PodPlan {
  return computePodActions({
    spec: { containers: [web], restartPolicy: 'Always', ...spec },
    sandboxes,
    containers: new Map(containers.map((container) => [container.name, container])),
    probes: { result: (kind, id) => probes[`${kind} ${id}`] },
  });
}

const on42 = { action: 'Restart', exitCodes: { operator: 'In', values: [42] } };
const startWeb = [{ name: 'web', role: 'main' }] as const;
const notReady: ObservedSandbox = { ...sandbox, ready: false };

const cases: Record<string, { given: Given; plan: PodPlan }> = {
  'leaves a healthy pod alone': { given: {}, plan: NOTHING_TO_DO },

  'creates the sandbox of a new pod first': {
    given: { sandboxes: [], containers: [] },
    plan: { kind: 'newSandbox', attempt: 0, start: startWeb },
  },
  'replaces a sandbox that is not ready': {
    given: { sandboxes: [notReady], containers: [seen(web, exited(137))] },
    plan: { kind: 'newSandbox', attempt: 1, start: startWeb },
  },
  'replaces several ready sandboxes': {
    given: { sandboxes: [{ ...sandbox, id: 's1', attempt: 1 }, sandbox] },
    plan: { kind: 'newSandbox', attempt: 2, start: startWeb },
  },
  'replaces a sandbox without an address': {
    given: { sandboxes: [{ ...sandbox, ips: [] }] },
    plan: { kind: 'newSandbox', attempt: 1, start: startWeb },
  },
  'wants no address on the host network': {
    given: { spec: { hostNetwork: true }, sandboxes: [{ ...sandbox, hostNetwork: true, ips: [] }] },
    plan: NOTHING_TO_DO,
  },
  'replaces the sandbox when the network mode changed': {
    given: { spec: { hostNetwork: true } },
    plan: { kind: 'newSandbox', attempt: 1, start: startWeb },
  },
  'does not bring back a pod that never restarts': {
    given: { spec: { restartPolicy: 'Never' }, sandboxes: [notReady], containers: [seen(web, exited(1))] },
    plan: { kind: 'end' },
  },
  'retries the sandbox of a pod that never restarts while no container was made': {
    given: { spec: { restartPolicy: 'Never' }, sandboxes: [notReady], containers: [] },
    plan: { kind: 'newSandbox', attempt: 1, start: startWeb },
  },
  'leaves out what succeeded when a new sandbox is made on failure': {
    given: {
      spec: { restartPolicy: 'OnFailure', containers: [web, log] },
      sandboxes: [notReady],
      containers: [seen(web, exited(0)), seen(log, exited(1))],
    },
    plan: { kind: 'newSandbox', attempt: 1, start: [{ name: 'log', role: 'main' }] },
  },
  'ends a pod whose containers all succeeded instead of making a sandbox': {
    given: { spec: { restartPolicy: 'OnFailure' }, sandboxes: [notReady], containers: [seen(web, exited(0))] },
    plan: { kind: 'end' },
  },
  'begins a new sandbox with the first init container': {
    given: { spec: { initContainers: [first, second] }, sandboxes: [], containers: [] },
    plan: { kind: 'newSandbox', attempt: 0, start: [{ name: 'first', role: 'init' }] },
  },

  'starts a container that is missing': {
    given: { containers: [] },
    plan: { kind: 'adjust', kill: [], start: startWeb },
  },
  'starts a container again that was created and never started': {
    given: { containers: [seen(web, created)] },
    plan: { kind: 'adjust', kill: [], start: startWeb },
  },
  'restarts an exited container': {
    given: { containers: [seen(web, exited(0))] },
    plan: { kind: 'adjust', kill: [], start: startWeb },
  },
  'restarts a failed container on failure': {
    given: { spec: { restartPolicy: 'OnFailure' }, containers: [seen(web, exited(1))] },
    plan: { kind: 'adjust', kill: [], start: startWeb },
  },
  'ends a pod that succeeded on failure': {
    given: { spec: { restartPolicy: 'OnFailure' }, containers: [seen(web, exited(0))] },
    plan: { kind: 'end' },
  },
  'ends a pod that never restarts': {
    given: { spec: { restartPolicy: 'Never' }, containers: [seen(web, exited(1))] },
    plan: { kind: 'end' },
  },
  'keeps the rest of a pod that never restarts': {
    given: {
      spec: { restartPolicy: 'Never', containers: [web, log] },
      containers: [seen(web, exited(1)), seen(log, running)],
    },
    plan: NOTHING_TO_DO,
  },
  'kills a container of unknown state before it starts another': {
    given: { containers: [seen(web, unknown)] },
    plan: {
      kind: 'adjust',
      kill: [
        {
          id: 'id-web',
          name: 'web',
          reason: 'unknownState',
          message: 'Container is in "unknown" state, try killing it before restart',
        },
      ],
      start: startWeb,
    },
  },
  'restarts in place when the definition changed': {
    given: { spec: { restartPolicy: 'Never' }, containers: [seen(web, running, 'other')] },
    plan: {
      kind: 'adjust',
      kill: [
        {
          id: 'id-web',
          name: 'web',
          reason: 'definitionChanged',
          message: 'Container web definition changed, will be restarted',
        },
      ],
      start: startWeb,
    },
  },
  'restarts in place when liveness fails': {
    given: { probes: { 'liveness id-web': 'failure' } },
    plan: {
      kind: 'adjust',
      kill: [
        {
          id: 'id-web',
          name: 'web',
          reason: 'livenessFailed',
          message: 'Container web failed liveness probe, will be restarted',
        },
      ],
      start: startWeb,
    },
  },
  'ends a pod that never restarts when liveness fails': {
    given: { spec: { restartPolicy: 'Never' }, probes: { 'liveness id-web': 'failure' } },
    plan: { kind: 'end' },
  },
  'restarts in place when the startup probe fails': {
    given: { probes: { 'startup id-web': 'failure' } },
    plan: {
      kind: 'adjust',
      kill: [
        {
          id: 'id-web',
          name: 'web',
          reason: 'startupFailed',
          message: 'Container web failed startup probe, will be restarted',
        },
      ],
      start: startWeb,
    },
  },
  'does not care for readiness': { given: { probes: { 'readiness id-web': 'failure' } }, plan: NOTHING_TO_DO },

  'restarts by the policy of the container before that of the pod': {
    given: {
      spec: { restartPolicy: 'Never', containers: [{ ...web, restartPolicy: 'Always' }, log] },
      containers: [seen(web, exited(0)), seen(log, exited(0))],
    },
    plan: { kind: 'adjust', kill: [], start: startWeb },
  },
  'leaves a container alone that does not restart in a pod that does': {
    given: {
      spec: { containers: [{ ...web, restartPolicy: 'Never' }, log] },
      containers: [seen(web, exited(1)), seen(log, running)],
    },
    plan: NOTHING_TO_DO,
  },
  'restarts for an exit code that a rule names': {
    given: {
      spec: { restartPolicy: 'Never', containers: [{ ...web, restartPolicy: 'Never', restartPolicyRules: [on42] }] },
      containers: [seen(web, exited(42))],
    },
    plan: { kind: 'adjust', kill: [], start: startWeb },
  },
  'ends for an exit code that no rule names': {
    given: {
      spec: { restartPolicy: 'Never', containers: [{ ...web, restartPolicy: 'Never', restartPolicyRules: [on42] }] },
      containers: [seen(web, exited(1))],
    },
    plan: { kind: 'end' },
  },
  'restarts after a failed liveness probe by the policy of the container': {
    given: {
      spec: { restartPolicy: 'Never', containers: [{ ...web, restartPolicy: 'OnFailure' }] },
      probes: { 'liveness id-web': 'failure' },
    },
    plan: {
      kind: 'adjust',
      kill: [
        {
          id: 'id-web',
          name: 'web',
          reason: 'livenessFailed',
          message: 'Container web failed liveness probe, will be restarted',
        },
      ],
      start: startWeb,
    },
  },
  'repeats a failed init container by a rule of its own': {
    given: {
      spec: {
        restartPolicy: 'Never',
        initContainers: [{ ...first, restartPolicy: 'Never', restartPolicyRules: [on42] }],
      },
      containers: [seen(first, exited(42))],
    },
    plan: { kind: 'adjust', kill: [], start: [{ name: 'first', role: 'init' }] },
  },

  'waits for the init container that runs': {
    given: { spec: { initContainers: [first, second] }, containers: [seen(first, running)] },
    plan: NOTHING_TO_DO,
  },
  'goes on to the next init container': {
    given: { spec: { initContainers: [first, second] }, containers: [seen(first, exited(0))] },
    plan: { kind: 'adjust', kill: [], start: [{ name: 'second', role: 'init' }] },
  },
  'starts main containers after the last init container, whose predecessors are forgotten': {
    given: { spec: { initContainers: [first, second] }, containers: [seen(second, exited(0))] },
    plan: { kind: 'adjust', kill: [], start: startWeb },
  },
  'repeats a failed init container': {
    given: { spec: { initContainers: [first, second] }, containers: [seen(first, exited(1))] },
    plan: { kind: 'adjust', kill: [], start: [{ name: 'first', role: 'init' }] },
  },
  'gives up on a failed init container of a pod that never restarts': {
    given: { spec: { restartPolicy: 'Never', initContainers: [first] }, containers: [seen(first, exited(1))] },
    plan: { kind: 'end' },
  },
  'repeats an init container that was created and never started': {
    given: { spec: { initContainers: [first] }, containers: [seen(first, created)] },
    plan: { kind: 'adjust', kill: [], start: [{ name: 'first', role: 'init' }] },
  },
  'does not repeat init containers while a main one runs': {
    given: { spec: { initContainers: [first] } },
    plan: NOTHING_TO_DO,
  },

  'goes on once a sidecar runs': {
    given: { spec: { initContainers: [side, second] }, containers: [seen(side, running)] },
    plan: { kind: 'adjust', kill: [], start: [{ name: 'second', role: 'init' }] },
  },
  'waits for the startup probe of a sidecar': {
    given: {
      spec: { initContainers: [{ ...side, startupProbe: {} }, second] },
      containers: [seen(side, running)],
    },
    plan: NOTHING_TO_DO,
  },
  'goes on once the startup probe of a sidecar succeeds': {
    given: {
      spec: { initContainers: [{ ...side, startupProbe: {} }] },
      containers: [seen(side, running)],
      probes: { 'startup id-side': 'success' },
    },
    plan: { kind: 'adjust', kill: [], start: startWeb },
  },
  'restarts a sidecar beside the main containers': {
    given: { spec: { initContainers: [side] }, containers: [seen(side, exited(0)), seen(web, running)] },
    plan: { kind: 'adjust', kill: [], start: [{ name: 'side', role: 'sidecar' }] },
  },
  'brings back a sidecar that the runtime forgot': {
    given: { spec: { initContainers: [side] } },
    plan: { kind: 'adjust', kill: [], start: [{ name: 'side', role: 'sidecar' }] },
  },
  'restarts a sidecar while a later init container runs': {
    given: {
      spec: { initContainers: [side, second] },
      containers: [seen(side, exited(1)), seen(second, running)],
    },
    plan: { kind: 'adjust', kill: [], start: [{ name: 'side', role: 'sidecar' }] },
  },
  'does not let a sidecar keep the pod alive': {
    given: {
      spec: { restartPolicy: 'Never', initContainers: [side] },
      containers: [seen(side, running), seen(web, exited(0))],
    },
    plan: { kind: 'end' },
  },
  'restarts a sidecar whose liveness fails': {
    given: {
      spec: { initContainers: [{ ...side, livenessProbe: {} }] },
      containers: [seen(side, running), seen(web, running)],
      probes: { 'liveness id-side': 'failure' },
    },
    plan: {
      kind: 'adjust',
      kill: [
        {
          id: 'id-side',
          name: 'side',
          reason: 'livenessFailed',
          message: 'Init container side failed liveness probe',
        },
      ],
      start: [{ name: 'side', role: 'sidecar' }],
    },
  },
};

for (const [name, { given, plan: expected }] of Object.entries(cases)) {
  test(`computePodActions() ${name}`, () => assert.deepEqual(plan(given), expected));
}
