import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ContainerResize } from '../resources/resize-plan.ts';
import { exited, first, type Given, kill, log, observe, plan, running, side, start, web } from './plan.fixture.ts';
import type { PodPlan } from './pod-plan.ts';

const restart = (name: string) => kill(name, 'resized', `Container ${name} resize requires restart`);

const cases: Record<
  string,
  { given?: Given; resizes?: Record<string, ContainerResize>; pod?: boolean; plan: Omit<PodPlan, 'kind'> }
> = {
  'changes nothing when the pod has its allocated resources': { plan: { kill: [], start: [] } },
  'updates a running container': {
    resizes: { web: 'update' },
    plan: { kill: [], start: [], resize: { update: ['web'] } },
  },
  'restarts a container whose policy requires it, and no other': {
    given: { spec: { containers: [web, log] }, containers: [observe(web, running), observe(log, running)] },
    resizes: { web: 'restart' },
    plan: { kill: [restart('web')], start: start('main', 'web'), resize: { update: [] } },
  },
  'does both at once': {
    given: { spec: { containers: [web, log] }, containers: [observe(web, running), observe(log, running)] },
    resizes: { web: 'restart', log: 'update' },
    plan: { kill: [restart('web')], start: start('main', 'web'), resize: { update: ['log'] } },
  },
  'restarts a container that otherwise never restarts': {
    given: { spec: { restartPolicy: 'Never' } },
    resizes: { web: 'restart' },
    plan: { kill: [restart('web')], start: start('main', 'web'), resize: { update: [] } },
  },
  'does not update a container that is killed for another reason: it starts with its new resources': {
    given: { probes: { 'liveness id-web': 'failure' } },
    resizes: { web: 'update' },
    plan: {
      kill: [kill('web', 'livenessFailed', 'Container web failed liveness probe, will be restarted')],
      start: start('main', 'web'),
      resize: { update: [] },
    },
  },
  'resizes the pod for a container that starts with more': {
    given: { containers: [observe(web, exited(1))] },
    resizes: { web: 'update' },
    plan: { kill: [], start: start('main', 'web'), resize: { update: [] } },
  },
  'ignores an init container that has completed': {
    given: { spec: { initContainers: [first] }, containers: [observe(first, exited(0)), observe(web, running)] },
    resizes: { first: 'update' },
    plan: { kill: [], start: [] },
  },
  'updates a running init container': {
    given: { spec: { initContainers: [first] }, containers: [observe(first, running)] },
    resizes: { first: 'update' },
    plan: { kill: [], start: [], resize: { update: ['first'] } },
  },
  'restarts a sidecar': {
    given: { spec: { initContainers: [side] }, containers: [observe(side, running), observe(web, running)] },
    resizes: { side: 'restart', web: 'update' },
    plan: { kill: [restart('side')], start: start('sidecar', 'side'), resize: { update: ['web'] } },
  },
  'resizes pod-level resources': { pod: true, plan: { kill: [], start: [], resize: { update: [] } } },
};

for (const [what, { given = {}, resizes = {}, pod = false, plan: expected }] of Object.entries(cases)) {
  test(`computePodActions() ${what}`, () => {
    const resize = { containers: new Map(Object.entries(resizes)), pod };
    assert.deepEqual(plan({ ...given, resize }), { kind: 'adjust', ...expected });
  });
}
