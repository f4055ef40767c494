/** Sandboxes, main and ephemeral containers. Init containers: plan-init-containers.test.ts. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Container } from '../../api/generated/core-v1.ts';
import type { ObservedContainerState } from '../pod/observed-pod.ts';
import {
  adjust,
  created,
  END,
  exited,
  first,
  type Given,
  kill,
  log,
  notReady,
  observe,
  on42,
  plan,
  running,
  sandbox,
  second,
  side,
  start,
  unknown,
  web,
} from './plan.fixture.ts';
import { NOTHING_TO_DO, type PodPlan } from './pod-plan.ts';

const startWeb = start('main', 'web');
const debug: Container = { name: 'debug', image: 'busybox' };
const shell: Container = { name: 'shell', image: 'busybox' };

const sandboxes: Record<string, { given: Given; plan: PodPlan }> = {
  'creates the sandbox of a new pod first': {
    given: { sandboxes: [], containers: [] },
    plan: { kind: 'newSandbox', attempt: 0, reason: 'none yet', start: startWeb },
  },
  'starts all main containers in a new sandbox': {
    given: { spec: { containers: [web, log] }, sandboxes: [], containers: [] },
    plan: { kind: 'newSandbox', attempt: 0, reason: 'none yet', start: start('main', 'web', 'log') },
  },
  'replaces a sandbox that is not ready': {
    given: { sandboxes: [notReady], containers: [observe(web, exited(137))] },
    plan: { kind: 'newSandbox', attempt: 1, reason: 'not ready', start: startWeb },
  },
  'replaces a sandbox that is not ready although an older one is': {
    given: { sandboxes: [{ ...notReady, id: 's1', attempt: 1 }, sandbox] },
    plan: { kind: 'newSandbox', attempt: 2, reason: 'not ready', start: startWeb },
  },
  'keeps a ready sandbox beside older ones that are not': {
    given: {
      sandboxes: [
        { ...sandbox, attempt: 1 },
        { ...notReady, id: 'old' },
      ],
    },
    plan: NOTHING_TO_DO,
  },
  'replaces several ready sandboxes': {
    given: { sandboxes: [{ ...sandbox, id: 's1', attempt: 1 }, sandbox] },
    plan: { kind: 'newSandbox', attempt: 2, reason: 'several are ready', start: startWeb },
  },
  'replaces a sandbox without an address': {
    given: { sandboxes: [{ ...sandbox, ips: [] }] },
    plan: { kind: 'newSandbox', attempt: 1, reason: 'no address', start: startWeb },
  },
  'needs no address on the host network': {
    given: { spec: { hostNetwork: true }, sandboxes: [{ ...sandbox, hostNetwork: true, ips: [] }] },
    plan: NOTHING_TO_DO,
  },
  'replaces the sandbox when the pod moves to the host network': {
    given: { spec: { hostNetwork: true } },
    plan: { kind: 'newSandbox', attempt: 1, reason: 'network mode changed', start: startWeb },
  },
  'replaces the sandbox when the pod leaves the host network': {
    given: { sandboxes: [{ ...sandbox, hostNetwork: true, ips: [] }] },
    plan: { kind: 'newSandbox', attempt: 1, reason: 'network mode changed', start: startWeb },
  },
  'does not recreate the sandbox of a pod that never restarts': {
    given: { spec: { restartPolicy: 'Never' }, sandboxes: [notReady], containers: [observe(web, exited(1))] },
    plan: END,
  },
  'does not recreate the sandbox of a pod that never restarts, even if its containers may restart': {
    given: {
      spec: { restartPolicy: 'Never', containers: [{ ...web, restartPolicy: 'Always' }] },
      sandboxes: [notReady],
      containers: [observe(web, exited(1))],
    },
    plan: END,
  },
  'retries the sandbox of a pod that never restarts while no container was created': {
    given: { spec: { restartPolicy: 'Never' }, sandboxes: [notReady], containers: [] },
    plan: { kind: 'newSandbox', attempt: 1, reason: 'not ready', start: startWeb },
  },
  'retries the sandbox of a pod that never restarts while no container was started': {
    given: { spec: { restartPolicy: 'Never' }, sandboxes: [notReady], containers: [observe(web, created)] },
    plan: { kind: 'newSandbox', attempt: 1, reason: 'not ready', start: startWeb },
  },
  'skips succeeded containers in a new sandbox with OnFailure': {
    given: {
      spec: { restartPolicy: 'OnFailure', containers: [web, log] },
      sandboxes: [notReady],
      containers: [observe(web, exited(0)), observe(log, exited(1))],
    },
    plan: { kind: 'newSandbox', attempt: 1, reason: 'not ready', start: start('main', 'log') },
  },
  'skips succeeded containers by the container policy': {
    given: {
      spec: { containers: [{ ...web, restartPolicy: 'OnFailure' }, log] },
      sandboxes: [notReady],
      containers: [observe(web, exited(0)), observe(log, exited(0))],
    },
    plan: { kind: 'newSandbox', attempt: 1, reason: 'not ready', start: start('main', 'log') },
  },
  'restarts succeeded containers by the container policy': {
    given: {
      spec: { restartPolicy: 'OnFailure', containers: [{ ...web, restartPolicy: 'Always' }, log] },
      sandboxes: [notReady],
      containers: [observe(web, exited(0)), observe(log, exited(0))],
    },
    plan: { kind: 'newSandbox', attempt: 1, reason: 'not ready', start: startWeb },
  },
  'ends a pod whose containers all succeeded instead of creating a sandbox': {
    given: { spec: { restartPolicy: 'OnFailure' }, sandboxes: [notReady], containers: [observe(web, exited(0))] },
    plan: END,
  },
  'starts the first init container in a new sandbox': {
    given: { spec: { initContainers: [first, second] }, sandboxes: [], containers: [] },
    plan: { kind: 'newSandbox', attempt: 0, reason: 'none yet', start: start('init', 'first') },
  },
  'starts the first init container in a new sandbox, although all of them ran in the old one': {
    given: {
      spec: { initContainers: [first] },
      sandboxes: [notReady],
      containers: [observe(first, exited(0)), observe(web, exited(137))],
    },
    plan: { kind: 'newSandbox', attempt: 1, reason: 'not ready', start: start('init', 'first') },
  },
  'starts a sidecar first in a new sandbox': {
    given: { spec: { initContainers: [side, second] }, sandboxes: [], containers: [] },
    plan: { kind: 'newSandbox', attempt: 0, reason: 'none yet', start: start('sidecar', 'side') },
  },
  'does not start ephemeral containers in a new sandbox': {
    given: { spec: { ephemeralContainers: [debug] }, sandboxes: [], containers: [] },
    plan: { kind: 'newSandbox', attempt: 0, reason: 'none yet', start: startWeb },
  },
};

const killUnknown = kill('web', 'unknownState', 'Container is in "unknown" state, try killing it before restart');
const killChanged = kill('web', 'definitionChanged', 'Container web definition changed, will be restarted');
const killSick = kill('web', 'livenessFailed', 'Container web failed liveness probe, will be restarted');
const killSlow = kill('web', 'startupFailed', 'Container web failed startup probe, will be restarted');

const mains: Record<string, { given: Given; plan: PodPlan }> = {
  'does nothing for a healthy pod': { given: {}, plan: NOTHING_TO_DO },
  'starts a missing container': { given: { containers: [] }, plan: adjust({ starts: startWeb }) },
  'starts a missing container beside a running one': {
    given: { spec: { containers: [web, log] }, containers: [observe(log, running)] },
    plan: adjust({ starts: startWeb }),
  },
  'keeps the running containers of a pod that never restarts': {
    given: {
      spec: { restartPolicy: 'Never', containers: [web, log] },
      containers: [observe(web, exited(1)), observe(log, running)],
    },
    plan: NOTHING_TO_DO,
  },
  'restarts in place when the definition changed, whatever the policy': {
    given: { spec: { restartPolicy: 'Never' }, containers: [observe(web, running, 'other')] },
    plan: adjust({ kills: [killChanged], starts: startWeb }),
  },
  'ignores the definition of an exited container': {
    given: { spec: { restartPolicy: 'Never' }, containers: [observe(web, exited(0), 'other')] },
    plan: END,
  },
  'reports a changed definition before a failed probe': {
    given: { containers: [observe(web, running, 'other')], probes: { 'liveness id-web': 'failure' } },
    plan: adjust({ kills: [killChanged], starts: startWeb }),
  },
  'restarts in place when liveness fails': {
    given: { probes: { 'liveness id-web': 'failure' } },
    plan: adjust({ kills: [killSick], starts: startWeb }),
  },
  'restarts in place when liveness fails and only failures restart': {
    given: { spec: { restartPolicy: 'OnFailure' }, probes: { 'liveness id-web': 'failure' } },
    plan: adjust({ kills: [killSick], starts: startWeb }),
  },
  'ends a pod that never restarts when liveness fails': {
    given: { spec: { restartPolicy: 'Never' }, probes: { 'liveness id-web': 'failure' } },
    plan: END,
  },
  'kills a container whose liveness fails, and keeps the others of a pod that never restarts': {
    given: {
      spec: { restartPolicy: 'Never', containers: [web, log] },
      containers: [observe(web, running), observe(log, running)],
      probes: { 'liveness id-web': 'failure' },
    },
    plan: adjust({ kills: [kill('web', 'livenessFailed', 'Container web failed liveness probe')] }),
  },
  'restarts in place when the startup probe fails': {
    given: { probes: { 'startup id-web': 'failure' } },
    plan: adjust({ kills: [killSlow], starts: startWeb }),
  },
  'kills a container whose startup probe fails, and keeps the others of a pod that never restarts': {
    given: {
      spec: { restartPolicy: 'Never', containers: [web, log] },
      containers: [observe(web, running), observe(log, running)],
      probes: { 'startup id-web': 'failure' },
    },
    plan: adjust({ kills: [kill('web', 'startupFailed', 'Container web failed startup probe')] }),
  },
  'waits for probes without a result': {
    given: { probes: { 'liveness id-web': 'unknown', 'startup id-web': 'unknown' } },
    plan: NOTHING_TO_DO,
  },
  'ignores readiness': { given: { probes: { 'readiness id-web': 'failure' } }, plan: NOTHING_TO_DO },
  'ignores probe results of an earlier instance': {
    given: { probes: { 'liveness id-before': 'failure' } },
    plan: NOTHING_TO_DO,
  },
  'restarts by the policy of the container before that of the pod': {
    given: {
      spec: { restartPolicy: 'Never', containers: [{ ...web, restartPolicy: 'Always' }, log] },
      containers: [observe(web, exited(0)), observe(log, exited(0))],
    },
    plan: adjust({ starts: startWeb }),
  },
  'does not restart a container by its own policy in a pod that restarts': {
    given: {
      spec: { containers: [{ ...web, restartPolicy: 'Never' }, log] },
      containers: [observe(web, exited(1)), observe(log, running)],
    },
    plan: NOTHING_TO_DO,
  },
  'restarts for an exit code with a rule': {
    given: {
      spec: { restartPolicy: 'Never', containers: [{ ...web, restartPolicy: 'Never', restartPolicyRules: [on42] }] },
      containers: [observe(web, exited(42))],
    },
    plan: adjust({ starts: startWeb }),
  },
  'ends for an exit code without a rule': {
    given: {
      spec: { restartPolicy: 'Never', containers: [{ ...web, restartPolicy: 'Never', restartPolicyRules: [on42] }] },
      containers: [observe(web, exited(1))],
    },
    plan: END,
  },
  'does not apply rules to a killed container': {
    given: {
      spec: { containers: [{ ...web, restartPolicy: 'Never', restartPolicyRules: [on42] }] },
      probes: { 'liveness id-web': 'failure' },
    },
    plan: END,
  },
  'restarts after a failed liveness probe by the policy of the container': {
    given: {
      spec: { restartPolicy: 'Never', containers: [{ ...web, restartPolicy: 'OnFailure' }] },
      probes: { 'liveness id-web': 'failure' },
    },
    plan: adjust({ kills: [killSick], starts: startWeb }),
  },
  'uses the newest instance': {
    given: { spec: { restartPolicy: 'OnFailure' }, containers: [observe(web, exited(0)), observe(web, exited(1))] },
    plan: END,
  },
};

const ephemerals: Record<string, { given: Given; plan: PodPlan }> = {
  'starts an ephemeral container in a healthy pod': {
    given: { spec: { ephemeralContainers: [debug] } },
    plan: adjust({ starts: start('ephemeral', 'debug') }),
  },
  'starts ephemeral containers before all others': {
    given: {
      spec: { initContainers: [side], ephemeralContainers: [debug, shell] },
      containers: [observe(side, running)],
    },
    plan: adjust({ starts: [...start('ephemeral', 'debug', 'shell'), ...startWeb] }),
  },
  'starts an ephemeral container while init containers run': {
    given: { spec: { initContainers: [first], ephemeralContainers: [debug] }, containers: [observe(first, running)] },
    plan: adjust({ starts: start('ephemeral', 'debug') }),
  },
  'never restarts an exited ephemeral container': {
    given: { spec: { ephemeralContainers: [debug] }, containers: [observe(web, running), observe(debug, exited(1))] },
    plan: NOTHING_TO_DO,
  },
  'never restarts an ephemeral container that failed to start': {
    given: { spec: { ephemeralContainers: [debug] }, containers: [observe(web, running), observe(debug, created)] },
    plan: NOTHING_TO_DO,
  },
  'ignores an ephemeral container of unknown state': {
    given: { spec: { ephemeralContainers: [debug] }, containers: [observe(web, running), observe(debug, unknown)] },
    plan: NOTHING_TO_DO,
  },
  'ignores a changed definition of an ephemeral container': {
    given: {
      spec: { ephemeralContainers: [debug] },
      containers: [observe(web, running), observe(debug, running, 'other')],
    },
    plan: NOTHING_TO_DO,
  },
  'ends a pod of which only an ephemeral container runs': {
    given: {
      spec: { restartPolicy: 'Never', ephemeralContainers: [debug] },
      containers: [observe(web, exited(0)), observe(debug, running)],
    },
    plan: END,
  },
  'does not start an ephemeral container in a pod that is done': {
    given: { spec: { restartPolicy: 'Never', ephemeralContainers: [debug] }, containers: [observe(web, exited(0))] },
    plan: END,
  },
};

for (const [name, { given, plan: expected }] of Object.entries({ ...sandboxes, ...mains, ...ephemerals })) {
  test(`computePodActions() ${name}`, () => assert.deepEqual(plan(given), expected));
}

/** Plans for a main container in each state, beside a running one. */
const states: Record<string, ObservedContainerState> = {
  created,
  succeeded: exited(0),
  failed: exited(1),
  unknown,
};

const byPolicy: Record<string, Record<string, PodPlan>> = {
  Always: {
    created: adjust({ starts: startWeb }),
    succeeded: adjust({ starts: startWeb }),
    failed: adjust({ starts: startWeb }),
    unknown: adjust({ kills: [killUnknown], starts: startWeb }),
  },
  OnFailure: {
    created: adjust({ starts: startWeb }),
    succeeded: NOTHING_TO_DO,
    failed: adjust({ starts: startWeb }),
    unknown: adjust({ kills: [killUnknown], starts: startWeb }),
  },
  Never: {
    created: adjust({ starts: startWeb }),
    succeeded: NOTHING_TO_DO,
    failed: NOTHING_TO_DO,
    unknown: adjust({ kills: [killUnknown], starts: startWeb }),
  },
};

for (const [restartPolicy, plans] of Object.entries(byPolicy)) {
  for (const [state, expected] of Object.entries(plans)) {
    const given = (of: 'pod' | 'container'): Given => ({
      spec: {
        restartPolicy: of === 'pod' ? restartPolicy : 'Always',
        containers: [of === 'pod' ? web : { ...web, restartPolicy }, log],
      },
      containers: [observe(web, states[state] ?? created), observe(log, running)],
    });
    test(`computePodActions() for a container that is ${state}, in a pod that restarts ${restartPolicy}`, () => {
      assert.deepEqual(plan(given('pod')), expected);
    });
    test(`computePodActions() for a container that is ${state} and itself restarts ${restartPolicy}`, () => {
      assert.deepEqual(plan(given('container')), expected);
    });
  }
}
