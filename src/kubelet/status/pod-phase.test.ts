import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Container, ContainerStatus, Pod } from '../../api/generated/core-v1.ts';
import { type PhaseView, type PodPhase, podPhase } from './pod-phase.ts';

type Shown = Pick<ContainerStatus, 'state' | 'lastState' | 'started'>;

const running: Shown = { state: { running: {} }, started: true };
const starting: Shown = { state: { running: {} }, started: false };
const waiting: Shown = { state: { waiting: { reason: 'ContainerCreating' } } };
const ended = (exitCode: number): Shown => ({ state: { terminated: { exitCode } } });
const backOff = (exitCode: number): Shown => ({
  state: { waiting: { reason: 'CrashLoopBackOff' } },
  lastState: { terminated: { exitCode } },
});

const container = (name: string): Container => ({ name, image: 'busybox' });
const sidecar = (name: string): Container => ({ ...container(name), restartPolicy: 'Always' });

function statuses(shown: Record<string, Shown | undefined>): ContainerStatus[] {
  return Object.entries(shown).flatMap(([name, own]) =>
    own ? [{ name, image: '', imageID: '', ready: false, restartCount: 0, ...own }] : [],
  );
}

function view(
  shown: Record<string, Shown | undefined>,
  init: readonly Container[],
  changes: Partial<PhaseView> & { policy?: string },
): PhaseView {
  const { policy = 'Always', ...rest } = changes;
  const isInit = (name: string) => init.some((each) => each.name === name);
  const containers = Object.keys(shown)
    .filter((name) => !isInit(name))
    .map(container);
  const pod: Pod = {
    metadata: { name: 'p', namespace: 'default', uid: 'u' },
    spec: { restartPolicy: policy, containers, initContainers: init },
  };
  return { pod, statuses: statuses(shown), ended: false, initialized: false, ...rest };
}

type ByPolicy = readonly [always: PodPhase, onFailure: PodPhase, never: PodPhase];
const everywhere = (phase: PodPhase): ByPolicy => [phase, phase, phase];

const twoContainers: Record<string, { a: Shown | undefined; b: Shown; phase: ByPolicy }> = {
  'both wait': { a: waiting, b: waiting, phase: everywhere('Pending') },
  'one waits, one runs': { a: waiting, b: running, phase: everywhere('Pending') },
  'one is unknown': { a: undefined, b: running, phase: everywhere('Pending') },
  'one is unknown, one ended': { a: undefined, b: ended(0), phase: everywhere('Pending') },
  'both run': { a: running, b: running, phase: everywhere('Running') },
  'one runs, one succeeded': { a: running, b: ended(0), phase: everywhere('Running') },
  'one runs, one failed': { a: running, b: ended(1), phase: everywhere('Running') },
  'one runs, one backs off': { a: running, b: backOff(1), phase: everywhere('Running') },
  'both succeeded': { a: ended(0), b: ended(0), phase: ['Running', 'Succeeded', 'Succeeded'] },
  'one succeeded, one failed': { a: ended(0), b: ended(1), phase: ['Running', 'Running', 'Failed'] },
  'both failed': { a: ended(2), b: ended(1), phase: ['Running', 'Running', 'Failed'] },
  'one succeeded, one backs off': { a: ended(0), b: backOff(1), phase: ['Running', 'Running', 'Failed'] },
  'both back off': { a: backOff(1), b: backOff(1), phase: ['Running', 'Running', 'Failed'] },
};

for (const [name, { a, b, phase }] of Object.entries(twoContainers)) {
  for (const [index, policy] of ['Always', 'OnFailure', 'Never'].entries()) {
    test(`podPhase() with policy ${policy} when ${name}`, () => {
      assert.equal(podPhase(view({ a, b }, [], { policy })), phase[index]);
    });
  }
}

const withInit: Record<string, { init: Shown | undefined; main: Shown; phase: ByPolicy }> = {
  'is not known': { init: undefined, main: waiting, phase: everywhere('Pending') },
  waits: { init: waiting, main: waiting, phase: everywhere('Pending') },
  runs: { init: running, main: waiting, phase: everywhere('Pending') },
  failed: { init: ended(1), main: waiting, phase: ['Pending', 'Pending', 'Failed'] },
  'backs off': { init: backOff(1), main: waiting, phase: ['Pending', 'Pending', 'Failed'] },
  'succeeded, and the next is not made yet': { init: ended(0), main: waiting, phase: everywhere('Pending') },
  'succeeded, and the next runs': { init: ended(0), main: running, phase: everywhere('Running') },
  'succeeded, and the next failed': { init: ended(0), main: ended(1), phase: ['Running', 'Running', 'Failed'] },
};

for (const [name, { init, main, phase }] of Object.entries(withInit)) {
  for (const [index, policy] of ['Always', 'OnFailure', 'Never'].entries()) {
    test(`podPhase() with policy ${policy} when the init container ${name}`, () => {
      assert.equal(podPhase(view({ init, main }, [container('init')], { policy })), phase[index]);
    });
  }
}

const withSidecar: Record<string, { side: Shown; main: Shown; initialized?: boolean; phase: ByPolicy }> = {
  'waits, and no other was created': { side: waiting, main: waiting, phase: everywhere('Pending') },
  'has not started yet': { side: starting, main: waiting, phase: everywhere('Pending') },
  'runs beside the container': { side: running, main: running, phase: everywhere('Running') },
  'restarts and has not started, once the container ran': {
    side: starting,
    main: running,
    initialized: true,
    phase: everywhere('Running'),
  },
  'backs off, once the container ran': {
    side: backOff(1),
    main: running,
    initialized: true,
    phase: everywhere('Running'),
  },
  'still runs after the container succeeded': { side: running, main: ended(0), phase: everywhere('Running') },
  'ended after the container succeeded': {
    side: ended(137),
    main: ended(0),
    phase: ['Running', 'Succeeded', 'Succeeded'],
  },
  'ended after the container failed': { side: ended(0), main: ended(1), phase: ['Running', 'Running', 'Failed'] },
};

for (const [name, { side, main, initialized = false, phase }] of Object.entries(withSidecar)) {
  for (const [index, policy] of ['Always', 'OnFailure', 'Never'].entries()) {
    test(`podPhase() with policy ${policy} when the sidecar ${name}`, () => {
      assert.equal(podPhase(view({ side, main }, [sidecar('side')], { policy, initialized })), phase[index]);
    });
  }
}

const afterTheEnd: Record<string, { a: Shown; b: Shown; phase: PodPhase }> = {
  'both succeeded': { a: ended(0), b: ended(0), phase: 'Succeeded' },
  'one failed': { a: ended(0), b: ended(137), phase: 'Failed' },
  'one backs off after a success': { a: ended(0), b: backOff(0), phase: 'Failed' },
  'one still runs': { a: running, b: ended(0), phase: 'Running' },
  'none was created': { a: waiting, b: waiting, phase: 'Pending' },
};

for (const [name, { a, b, phase }] of Object.entries(afterTheEnd)) {
  test(`podPhase() of an ended pod, whatever its policy, when ${name}`, () => {
    assert.equal(podPhase(view({ a, b }, [], { ended: true })), phase);
  });
}

test('podPhase() gives a static pod that ended no terminal phase while its policy would restart it', () => {
  const { pod, ...rest } = view({ a: ended(0) }, [], { ended: true });
  const annotations = { 'kubernetes.io/config.source': 'file' };
  assert.equal(podPhase({ ...rest, pod: { ...pod, metadata: { ...pod.metadata, annotations } } }), 'Running');
});
