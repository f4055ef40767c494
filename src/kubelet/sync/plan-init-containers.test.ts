/** Plans for init containers and sidecars, and when main containers may run. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Container } from '../../api/generated/core-v1.ts';
import {
  adjust,
  created,
  END,
  exited,
  first,
  type Given,
  kill,
  observe,
  on42,
  plan,
  running,
  second,
  side,
  start,
  unknown,
  web,
} from './plan.fixture.ts';
import { NOTHING_TO_DO, type PodPlan } from './pod-plan.ts';

const both = { initContainers: [first, second] };
const probed: Container = { ...side, startupProbe: {}, livenessProbe: {} };
const startWeb = start('main', 'web');
const startSide = start('sidecar', 'side');

function killInit(name: string): ReturnType<typeof kill> {
  return kill(name, 'unknownState', 'Init container is in "unknown" state, try killing it before restart');
}

const inits: Record<string, { given: Given; plan: PodPlan }> = {
  'starts the first one in an empty sandbox': {
    given: { spec: both, containers: [] },
    plan: adjust({ starts: start('init', 'first') }),
  },
  'waits for the running one': { given: { spec: both, containers: [observe(first, running)] }, plan: NOTHING_TO_DO },
  'continues with the next one': {
    given: { spec: both, containers: [observe(first, exited(0))] },
    plan: adjust({ starts: start('init', 'second') }),
  },
  'continues from the last one that the runtime lists': {
    given: { spec: both, containers: [observe(first, exited(1)), observe(second, running)] },
    plan: NOTHING_TO_DO,
  },
  'starts main containers after the last one': {
    given: { spec: both, containers: [observe(first, exited(0)), observe(second, exited(0))] },
    plan: adjust({ starts: startWeb }),
  },
  'starts main containers after the last one, whose predecessors are no longer listed': {
    given: { spec: both, containers: [observe(second, exited(0))] },
    plan: adjust({ starts: startWeb }),
  },
  'retries one that failed': {
    given: { spec: both, containers: [observe(first, exited(1))] },
    plan: adjust({ starts: start('init', 'first') }),
  },
  'retries one that failed with OnFailure': {
    given: { spec: { ...both, restartPolicy: 'OnFailure' }, containers: [observe(first, exited(1))] },
    plan: adjust({ starts: start('init', 'first') }),
  },
  'fails after one that failed in a pod that never restarts': {
    given: { spec: { ...both, restartPolicy: 'Never' }, containers: [observe(first, exited(1))] },
    plan: END,
  },
  'continues after one that succeeded in a pod that never restarts': {
    given: { spec: { ...both, restartPolicy: 'Never' }, containers: [observe(first, exited(0))] },
    plan: adjust({ starts: start('init', 'second') }),
  },
  'retries one that failed by its own policy': {
    given: {
      spec: { restartPolicy: 'Never', initContainers: [{ ...first, restartPolicy: 'OnFailure' }] },
      containers: [observe(first, exited(1))],
    },
    plan: adjust({ starts: start('init', 'first') }),
  },
  'fails after one that failed by its own policy': {
    given: {
      spec: { initContainers: [{ ...first, restartPolicy: 'Never' }] },
      containers: [observe(first, exited(1))],
    },
    plan: END,
  },
  'retries one that failed by its own rule': {
    given: {
      spec: {
        restartPolicy: 'Never',
        initContainers: [{ ...first, restartPolicy: 'Never', restartPolicyRules: [on42] }],
      },
      containers: [observe(first, exited(42))],
    },
    plan: adjust({ starts: start('init', 'first') }),
  },
  'retries one that was created and never started': {
    given: { spec: both, containers: [observe(first, created)] },
    plan: adjust({ starts: start('init', 'first') }),
  },
  'kills one of unknown state before retrying it': {
    given: { spec: both, containers: [observe(first, unknown)] },
    plan: adjust({ kills: [killInit('first')], starts: start('init', 'first') }),
  },
  'fails after one of unknown state in a pod that never restarts': {
    given: { spec: { ...both, restartPolicy: 'Never' }, containers: [observe(first, unknown)] },
    plan: END,
  },
  'kills one of unknown state before retrying it by its own policy': {
    given: {
      spec: { restartPolicy: 'Never', initContainers: [{ ...first, restartPolicy: 'OnFailure' }] },
      containers: [observe(first, unknown)],
    },
    plan: adjust({ kills: [killInit('first')], starts: start('init', 'first') }),
  },
  'repeats none while a main container runs': { given: { spec: both }, plan: NOTHING_TO_DO },
  'does not retry a failed one while a main container runs': {
    given: { spec: both, containers: [observe(second, exited(1)), observe(web, running)] },
    plan: NOTHING_TO_DO,
  },
  'repeats none while a main container is created': {
    given: { spec: both, containers: [observe(web, created)] },
    plan: adjust({ starts: startWeb }),
  },
  'repeats all when a main container has exited and the runtime no longer lists them': {
    given: { spec: both, containers: [observe(web, exited(1))] },
    plan: adjust({ starts: start('init', 'first') }),
  },
  'repeats all of them when a main container runs in an older sandbox': {
    given: { spec: both, containers: [{ ...observe(web, running), sandboxId: 'old' }] },
    plan: adjust({ starts: start('init', 'first') }),
  },
  'ignores changed definitions': {
    given: { spec: both, containers: [observe(first, running, 'other')] },
    plan: NOTHING_TO_DO,
  },
  'ignores probe results': {
    given: { spec: both, containers: [observe(first, running)], probes: { 'liveness id-first': 'failure' } },
    plan: NOTHING_TO_DO,
  },
  'uses the newest instance': {
    given: { spec: both, containers: [observe(first, exited(0)), observe(first, exited(1))] },
    plan: adjust({ starts: start('init', 'second') }),
  },
};

const sidecars: Record<string, { given: Given; plan: PodPlan }> = {
  'continues when one runs': {
    given: { spec: { initContainers: [side, second] }, containers: [observe(side, running)] },
    plan: adjust({ starts: start('init', 'second') }),
  },
  'starts main containers when the last one runs': {
    given: { spec: { initContainers: [first, side] }, containers: [observe(first, exited(0)), observe(side, running)] },
    plan: adjust({ starts: startWeb }),
  },
  'waits for the startup probe': {
    given: { spec: { initContainers: [probed, second] }, containers: [observe(side, running)] },
    plan: NOTHING_TO_DO,
  },
  'waits for a startup probe without a result': {
    given: {
      spec: { initContainers: [probed, second] },
      containers: [observe(side, running)],
      probes: { 'startup id-side': 'unknown' },
    },
    plan: NOTHING_TO_DO,
  },
  'continues when the startup probe succeeds': {
    given: {
      spec: { initContainers: [probed] },
      containers: [observe(side, running)],
      probes: { 'startup id-side': 'success' },
    },
    plan: adjust({ starts: startWeb }),
  },
  'restarts one whose startup probe fails, and waits': {
    given: {
      spec: { initContainers: [probed] },
      containers: [observe(side, running)],
      probes: { 'startup id-side': 'failure' },
    },
    plan: adjust({
      kills: [kill('side', 'startupFailed', 'Init container side failed startup probe')],
      starts: startSide,
    }),
  },
  'continues although liveness fails': {
    given: {
      spec: { initContainers: [{ ...side, livenessProbe: {} }, second] },
      containers: [observe(side, running)],
      probes: { 'liveness id-side': 'failure' },
    },
    plan: adjust({
      kills: [kill('side', 'livenessFailed', 'Init container side failed liveness probe')],
      starts: [...startSide, ...start('init', 'second')],
    }),
  },
  'restarts one whose liveness fails beside the main containers': {
    given: {
      spec: { initContainers: [{ ...side, livenessProbe: {} }] },
      containers: [observe(side, running), observe(web, running)],
      probes: { 'liveness id-side': 'failure' },
    },
    plan: adjust({
      kills: [kill('side', 'livenessFailed', 'Init container side failed liveness probe')],
      starts: startSide,
    }),
  },
  'restarts one whose definition changed': {
    given: {
      spec: { initContainers: [side] },
      containers: [observe(side, running, 'other'), observe(web, running)],
    },
    plan: adjust({
      kills: [kill('side', 'definitionChanged', 'Init container side definition changed')],
      starts: startSide,
    }),
  },
  'restarts one beside the main containers, however it ended': {
    given: { spec: { initContainers: [side] }, containers: [observe(side, exited(0)), observe(web, running)] },
    plan: adjust({ starts: startSide }),
  },
  'restarts one in a pod that never restarts': {
    given: {
      spec: { restartPolicy: 'Never', initContainers: [side] },
      containers: [observe(side, exited(1)), observe(web, running)],
    },
    plan: adjust({ starts: startSide }),
  },
  'restarts one before the main containers': {
    given: { spec: { initContainers: [side] }, containers: [observe(side, exited(1))] },
    plan: adjust({ starts: startSide }),
  },
  'starts one again that was created and never started': {
    given: { spec: { initContainers: [side] }, containers: [observe(side, created), observe(web, running)] },
    plan: adjust({ starts: startSide }),
  },
  'kills one of unknown state before retrying it': {
    given: {
      spec: { restartPolicy: 'Never', initContainers: [side] },
      containers: [observe(side, unknown), observe(web, running)],
    },
    plan: adjust({ kills: [killInit('side')], starts: startSide }),
  },
  'starts one again that the runtime no longer lists': {
    given: { spec: { initContainers: [side] } },
    plan: adjust({ starts: startSide }),
  },
  'starts one again that the runtime no longer lists while a later init container runs': {
    given: { spec: { initContainers: [side, second] }, containers: [observe(second, running)] },
    plan: adjust({ starts: startSide }),
  },
  'restarts one while a later init container runs': {
    given: {
      spec: { initContainers: [side, second] },
      containers: [observe(side, exited(1)), observe(second, running)],
    },
    plan: adjust({ starts: startSide }),
  },
  'restarts one together with the start of the main containers': {
    given: {
      spec: { initContainers: [side, second] },
      containers: [observe(side, exited(1)), observe(second, exited(0))],
    },
    plan: adjust({ starts: [...startSide, ...startWeb] }),
  },
  'ends a pod of which only a sidecar runs': {
    given: {
      spec: { restartPolicy: 'Never', initContainers: [side] },
      containers: [observe(side, running), observe(web, exited(0))],
    },
    plan: END,
  },
  'does not restart one for a pod that is done': {
    given: {
      spec: { restartPolicy: 'OnFailure', initContainers: [side] },
      containers: [observe(side, running), observe(web, exited(0))],
      probes: { 'liveness id-side': 'failure' },
    },
    plan: END,
  },
};

for (const [kind, cases] of Object.entries({ 'init containers': inits, sidecars })) {
  for (const [name, { given, plan: expected }] of Object.entries(cases)) {
    test(`computePodActions() of ${kind}: ${name}`, () => assert.deepEqual(plan(given), expected));
  }
}
