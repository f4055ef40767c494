/** All containers of a pod restart after one has exited as its rule says. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Container } from '../../api/generated/core-v1.ts';
import {
  created,
  exited,
  first,
  type Given,
  log,
  notReady,
  observe,
  plan,
  running,
  side,
  start,
  unknown,
  web,
} from './plan.fixture.ts';
import { NOTHING_TO_DO, type PodPlan } from './pod-plan.ts';

const rule = { action: 'RestartAllContainers', exitCodes: { operator: 'In', values: [42] } };
const trigger: Container = { ...log, restartPolicy: 'Never', restartPolicyRules: [rule] };
const spec = { restartPolicy: 'Never', initContainers: [first, side], containers: [web, trigger] };

function remove(name: string, stopFirst = false, id = `id-${name}`) {
  return { id, name, stopFirst };
}

const cases: Record<string, { given: Given; plan: PodPlan }> = {
  'removes main containers, then init containers, then the trigger': {
    given: {
      spec,
      containers: [
        observe(trigger, exited(42)),
        observe(web, running),
        observe(side, running),
        observe(first, exited(0)),
      ],
    },
    plan: {
      kind: 'removeAll',
      groups: [[remove('web', true)], [remove('first'), remove('side', true)], [remove('log')]],
    },
  },
  'removes an init container last that is the trigger': {
    given: {
      spec: { initContainers: [{ ...first, restartPolicy: 'Never', restartPolicyRules: [rule] }], containers: [web] },
      containers: [observe(first, exited(42)), observe(web, exited(0))],
    },
    plan: { kind: 'removeAll', groups: [[remove('web')], [remove('first')]] },
  },
  'stops containers that may run before removing them': {
    given: { spec, containers: [observe(trigger, exited(42)), observe(web, unknown), observe(side, created)] },
    plan: { kind: 'removeAll', groups: [[remove('web', true)], [remove('side', true)], [remove('log')]] },
  },
  'removes older instances too': {
    given: {
      spec,
      containers: [
        observe(trigger, exited(42)),
        { ...observe(trigger, exited(1)), id: 'before' },
        { ...observe(trigger, exited(42)), id: 'long ago' },
      ],
    },
    plan: {
      kind: 'removeAll',
      groups: [[remove('log', false, 'before')], [remove('log'), remove('log', false, 'long ago')]],
    },
  },
  'continues after a crash': {
    given: { spec, containers: [observe(trigger, exited(42))] },
    plan: { kind: 'removeAll', groups: [[remove('log')]] },
  },
  'keeps ephemeral containers, and starts none': {
    given: {
      spec: { ...spec, ephemeralContainers: [{ name: 'debug' }, { name: 'shell' }] },
      containers: [observe(trigger, exited(42)), observe({ name: 'debug' }, running)],
    },
    plan: { kind: 'removeAll', groups: [[remove('log')]] },
  },
  'creates a lost sandbox first, and starts nothing in it': {
    given: { spec, sandboxes: [notReady], containers: [observe(trigger, exited(42)), observe(web, exited(137))] },
    plan: { kind: 'newSandbox', attempt: 1, reason: 'not ready', start: [] },
  },
};

for (const [name, { given, plan: expected }] of Object.entries(cases)) {
  test(`computePodActions() when all restart ${name}`, () => {
    assert.deepEqual(plan({ ...given, restartsAll: true }), expected);
  });
}

test('computePodActions() starts the first init container when all are removed', () => {
  assert.deepEqual(plan({ spec, containers: [] }), { ...NOTHING_TO_DO, start: start('init', 'first') });
});
