/** Explanations of pods by the whole agent, on virtual time. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { CriError } from '../../src/cri/cri-error.ts';
import { startGaps } from '../../src/kubelet/explain/step-gaps.ts';
import { why } from '../../src/kubelet/explain/why.ts';
import { type MemoryAgent, podOf, startAgent } from './memory-agent.ts';

function whyOf({ agent, host }: MemoryAgent, uid: string): readonly string[] {
  const report = agent.pods().find(({ pod }) => pod.metadata.uid === uid) ?? assert.fail(`no pod ${uid}`);
  return why(report, host.clock.now());
}

test('a crashing pod shows how it exited and when it restarts', async () => {
  await using it = await startAgent();
  it.runtime.behaviours.set('main', { exits: { afterMs: 1000, code: 1 } });
  it.source.set(podOf('web'));
  await it.host.clock.advance(5000);
  assert.deepEqual(whyOf(it, 'uid-web'), [
    'web is not ready (for 3 s): container main keeps ending.',
    'Container main has ended twice.',
    'The last time, it ended 3 s ago with exit code 1.',
    'It starts again in 7 s (back-off 10s).',
    'Its log may say more: nodelet logs web -c main',
  ]);
});

test('a container is shown as running during its postStart hook, so that its log can be read', async () => {
  await using it = await startAgent();
  it.runtime.behaviours.set('main', { exec: () => ({ afterMs: 60_000 }) });
  const lifecycle = { postStart: { exec: { command: ['wait'] } } };
  it.source.set(podOf('web', { containers: [{ name: 'main', image: 'busybox:1', lifecycle }] }));
  await it.host.clock.advance(5000);
  const [container] = it.agent.pods()[0]?.observed?.containers ?? [];
  assert.equal(container?.state, 'running');
  assert.deepEqual(whyOf(it, 'uid-web'), [
    'web is not ready (for 5 s): it is waiting for the postStart hook of container main.',
    'It has been waiting for the postStart hook of container main for 5 s.',
  ]);
});

test('a pod with a missing image shows that, and the time of the next attempt', async () => {
  await using it = await startAgent();
  it.source.set(podOf('web', { containers: [{ name: 'main', image: 'missing:1' }] }));
  await it.host.clock.advance(4000);
  const said = whyOf(it, 'uid-web');
  assert.equal(said[0], 'web is not ready (for 4 s): image "missing:1" cannot be pulled.');
  assert.equal(said.at(-1), 'It is tried again in 6 s.');
});

test('a container that waits for the image of a volume shows that image, not its own', async () => {
  await using it = await startAgent();
  const volumes = [{ name: 'model', image: { reference: 'model:1' } }];
  const volumeMounts = [{ name: 'model', mountPath: '/model' }];
  it.source.set(podOf('web', { containers: [{ name: 'main', image: 'busybox:1', volumeMounts }], volumes }));
  await it.host.clock.advance(4000);
  assert.equal(whyOf(it, 'uid-web')[0], 'web is not ready (for 4 s): image "model:1" cannot be pulled.');
});

test('a pod without a sandbox shows the error of the runtime', async () => {
  await using it = await startAgent();
  it.runtime.failures.next('runPodSandbox', { kind: 'before', error: new CriError('Unknown', 'no network') });
  it.source.set(podOf('web'));
  await it.host.clock.advance(2000);
  assert.deepEqual(whyOf(it, 'uid-web').slice(0, 2), [
    'web is not ready (for 2 s): the creation of its sandbox fails.',
    'The creation of its sandbox failed 2 s ago: no network.',
  ]);
});

test('a pod that waits for an older pod of the same name shows which one', async () => {
  await using it = await startAgent();
  it.runtime.behaviours.set('main', { onTerminate: { afterMs: 10_000, code: 0 } });
  it.source.set(podOf('web'));
  await it.host.clock.advance(0);
  const next = podOf('web');
  it.source.set({ ...next, metadata: { ...next.metadata, uid: 'next' } });
  await it.host.clock.advance(5000);
  assert.deepEqual(whyOf(it, 'next'), [
    'web has not started: it waits until an older pod of its name is gone, and has waited for 5 s.',
    'The older pod (uid uid-web) is stopping its containers.',
  ]);
  assert.deepEqual(whyOf(it, 'uid-web'), [
    'web is ending (for 5 s): it left its source, or was stopped by hand.',
    'What still runs is killed in 25 s.',
    'Container main was asked to end 5 s ago and still runs: it ignores SIGTERM, or needs the time.',
  ]);
});

test('no step of a start waits for a timer', async () => {
  await using it = await startAgent();
  it.source.set(...['a', 'b', 'c'].map((name) => podOf(name)));
  await it.host.clock.advance(60_000);
  for (const { steps } of it.agent.pods()) {
    assert.equal(steps.at(-1)?.name, 'start container');
    assert.deepEqual(startGaps(steps, 0), []);
  }
});

test('a pod shows its missing ConfigMap, and one that lost it shows the content that it keeps', async () => {
  await using it = await startAgent();
  const main = { name: 'main', image: 'busybox:1', volumeMounts: [{ name: 'conf', mountPath: '/conf' }] };
  it.source.set(podOf('web', { containers: [main], volumes: [{ name: 'conf', configMap: { name: 'settings' } }] }));
  await it.host.clock.advance(1900);
  assert.deepEqual(whyOf(it, 'uid-web').slice(0, 1), ['web is not ready (for 2 s): volume "conf" cannot be prepared.']);
  assert.match(whyOf(it, 'uid-web')[1] ?? '', /: volume "conf" needs ConfigMap "settings", which does not exist\.$/);
  it.source.setObjects({ configMaps: [{ metadata: { name: 'settings', namespace: 'default' } }] });
  await it.host.clock.advance(1000);
  assert.deepEqual(whyOf(it, 'uid-web').slice(1), []);
  it.source.setObjects({});
  await it.host.clock.advance(100);
  assert.deepEqual(whyOf(it, 'uid-web').slice(1), [
    'Its volumes could not be updated just now: volume "conf": configmap "settings" not found.',
    'Its containers keep what the volumes held before.',
  ]);
});

test('a manually stopped pod is shown as such until it is desired again', async () => {
  await using it = await startAgent();
  const pod = podOf('web');
  it.source.set(pod);
  await it.host.clock.advance(1000);
  assert.deepEqual(it.agent.manuallyStopped(), []);
  const stopped = it.agent.stopPod('uid-web', 0);
  await it.host.clock.advance(10_000);
  await stopped;
  assert.deepEqual(
    it.agent.manuallyStopped().map(({ metadata }) => metadata.name),
    ['web'],
  );
  it.source.set();
  await it.host.clock.advance(1000);
  assert.deepEqual(it.agent.manuallyStopped(), []);
});
