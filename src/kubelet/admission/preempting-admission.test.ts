import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Pod } from '../../api/generated/core-v1.ts';
import { amountsOf } from '../../api/pod-resources.ts';
import { silentLog } from '../../base/log.ts';
import { eventLoopTurn } from '../../host/linux/process/event-loop-turn.ts';
import { examplePod } from '../sync/config/pod.fixture.ts';
import { admitPod } from './admit-pod.ts';
import { PreemptingAdmission } from './preempting-admission.ts';

/** A node with two CPUs; `endings` end its victims. */
function node() {
  const endings = new Map<string, () => void>();
  const recorded: string[] = [];
  let batches = 0;
  const decide = (pod: Pod, otherPods: readonly Pod[]) =>
    admitPod(pod, {
      nodeName: 'n1',
      labels: {},
      maxPods: 110,
      allocatable: amountsOf({ cpu: 2 }),
      otherPods,
      host: { kernel: { major: 6, minor: 1 }, appArmorEnabled: false },
      supportsSupplementalGroupsPolicy: false,
    });
  const admission = new PreemptingAdmission({
    decide,
    kill: ({ metadata: { uid } }) => new Promise((resolve) => void endings.set(uid, resolve)),
    events: { record: ({ metadata }, _, reason) => void recorded.push(`${reason} ${metadata.name}`) },
    timeline: { during: (_uid, _name, _subject, work) => work() },
    log: silentLog,
    onVictimsEnded: () => void batches++,
  });
  const prepared: string[] = [];
  const prepare = (pod: Pod, signal = new AbortController().signal): void => {
    admission.step.prepare(pod, signal).then(
      () => prepared.push(pod.metadata.uid),
      () => prepared.push(`${pod.metadata.uid} aborted`),
    );
  };
  return { admission, endings, recorded, prepare, prepared, batches: () => batches };
}

function podOf(name: string, cpu: string, isCritical = false): Pod {
  return examplePod({
    metadata: { name, uid: name },
    spec: isCritical ? { priority: 2_000_000_000 } : {},
    container: { resources: { requests: { cpu } } },
  });
}

const web = podOf('web', '1');
const db = podOf('db', '1');
const critical = podOf('critical', '1', true);

test('a critical pod is prepared after its victims have ended', async () => {
  const { admission, endings, recorded, prepare, prepared } = node();
  assert.equal(admission.admit(critical, [web, db]), undefined);
  assert.deepEqual(recorded, ['Preempting db']);
  prepare(critical);
  prepare(podOf('other', '0'));
  await eventLoopTurn();
  assert.deepEqual(prepared, ['other']);
  endings.get('db')?.();
  await eventLoopTurn();
  assert.deepEqual(prepared, ['other', 'critical']);
});

test('a pod that gets what victims leave waits for them too', async () => {
  const { admission, endings, prepare, prepared } = node();
  const [big, small] = [podOf('big', '2'), podOf('small', '1')];
  assert.equal(admission.admit(critical, [big]), undefined);
  assert.equal(admission.admit(small, [big, critical]), undefined);
  prepare(critical);
  prepare(small);
  await eventLoopTurn();
  assert.deepEqual(prepared, []);
  endings.get('big')?.();
  await eventLoopTurn();
  assert.deepEqual(new Set(prepared), new Set(['critical', 'small']));
});

test('a second critical pod takes another victim', () => {
  const { admission, recorded } = node();
  const second = podOf('second', '1', true);
  assert.equal(admission.admit(critical, [web, db]), undefined);
  assert.equal(admission.admit(second, [web, db, critical]), undefined);
  assert.deepEqual(recorded, ['Preempting db', 'Preempting web']);
});

test('a critical pod that is ended itself does not wait any longer', async () => {
  const { admission, prepare, prepared } = node();
  const ending = new AbortController();
  admission.admit(critical, [web, db]);
  prepare(critical, ending.signal);
  ending.abort();
  await eventLoopTurn();
  assert.deepEqual(prepared, ['critical aborted']);
});

test('isAdmissible() ends no pod', () => {
  const { admission, recorded } = node();
  assert.equal(admission.isAdmissible(critical, [web, db]), true);
  assert.deepEqual(recorded, []);
});

test('pods that are not critical preempt none', () => {
  const { admission, recorded } = node();
  assert.equal(admission.admit(podOf('plain', '1'), [web, db])?.reason, 'OutOfcpu');
  assert.deepEqual(recorded, []);
});

test('a critical pod for which no pods can be ended is rejected with kubelet’s error', () => {
  const { admission } = node();
  const other = podOf('other-critical', '2', true);
  assert.deepEqual(admission.admit(critical, [other]), {
    phase: 'Failed',
    reason: 'UnexpectedAdmissionError',
    message:
      'Unexpected error while attempting to recover from admission failure: preemption: error finding a set of pods to preempt: ' +
      'no set of running pods found to reclaim resources: [(res: cpu, q: 1000), ]',
  });
});

test('the resize of a critical pod waits for its victims, and takes no others meanwhile', async () => {
  const { admission, endings, recorded, batches } = node();
  const resized = podOf('critical', '2', true);
  assert.equal(admission.admitResize(resized, [web]), 'wait');
  assert.equal(admission.admitResize(resized, [web]), 'wait');
  assert.deepEqual(recorded, ['Preempting web']);
  endings.get('web')?.();
  await eventLoopTurn();
  assert.equal(batches(), 1);
  assert.equal(admission.admitResize(resized, []), undefined);
});
