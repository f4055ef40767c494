import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ContainerState, PodSandboxState } from '../../../src/cri/generated/runtime-v1.ts';
import { checkRuntimeVersion } from '../../../src/cri/version-check.ts';
import { assertRejectsIfExpected, podConfig, podIds, runPod, type Subject, signal, statusOf } from './subject.ts';

export function sandboxContract(subjectOf: () => Subject): void {
  const sandboxStatus = async (podSandboxId: string) =>
    (await subjectOf().cri.runtime.podSandboxStatus({ podSandboxId, verbose: false }, signal)).status;

  test('Version reports CRI v1', async () => {
    const { runtimeApiVersion } = await checkRuntimeVersion(subjectOf().cri.runtime, 'here', signal);
    assert.equal(runtimeApiVersion, 'v1');
  });

  test('Status reports that the runtime and its network are ready', async () => {
    const { status } = await subjectOf().cri.runtime.status({ verbose: false }, signal);
    const ready = status?.conditions.map((condition) => [condition.type, condition.status]);
    // Runtimes have others of their own, after these.
    assert.deepEqual(ready?.slice(0, 2), [
      ['RuntimeReady', true],
      ['NetworkReady', true],
    ]);
  });

  test('a running sandbox is ready, has an address, and keeps its metadata', async (t) => {
    const before = BigInt(Date.now()) * 1_000_000n;
    const pod = await runPod(subjectOf());
    t.after(pod.remove);
    const status = await sandboxStatus(pod.id);
    assert.ok(status);
    const { metadata, labels, annotations } = pod.config;
    assert.deepEqual(
      { id: status.id, metadata: status.metadata, labels: status.labels, annotations: status.annotations },
      { id: pod.id, metadata, labels, annotations },
    );
    assert.equal(status.state, PodSandboxState.SANDBOX_READY);
    assert.match(status.network?.ip ?? '', /^10(\.\d+){3}$/);
    assert.ok(status.createdAt >= before && status.createdAt <= BigInt(Date.now() + 1) * 1_000_000n);
  });

  test('sandboxes have distinct addresses', async (t) => {
    const pods = [await runPod(subjectOf()), await runPod(subjectOf())];
    t.after(() => Promise.all(pods.map((pod) => pod.remove())));
    const addresses = await Promise.all(pods.map(async ({ id }) => (await sandboxStatus(id))?.network?.ip));
    assert.equal(new Set(addresses).size, 2);
  });

  test('a sandbox name is reserved until the sandbox is removed', async (t) => {
    const { runtime } = subjectOf().cri;
    const pod = await runPod(subjectOf());
    t.after(pod.remove);
    const { name, uid } = pod.config.metadata ?? {};
    const full = `${name}_default_${uid}_0`;
    const again = { config: pod.config, runtimeHandler: '' };
    const taken = subjectOf().errors.sandboxNameTaken(full, pod.id);
    await assert.rejects(runtime.runPodSandbox(again, signal), taken);
    await runtime.stopPodSandbox({ podSandboxId: pod.id }, signal);
    await assert.rejects(runtime.runPodSandbox(again, signal), taken);
    await pod.remove();
    const { podSandboxId } = await runtime.runPodSandbox(again, signal);
    await runtime.removePodSandbox({ podSandboxId }, signal);
  });

  test('a sandbox without metadata or with an unknown handler is rejected', async () => {
    const { errors, cri } = subjectOf();
    const { runtime } = cri;
    await assert.rejects(runtime.runPodSandbox({ config: undefined, runtimeHandler: '' }, signal), errors.noMetadata);
    await assert.rejects(
      runtime.runPodSandbox({ config: podConfig(subjectOf()), runtimeHandler: 'unknown' }, signal),
      errors.unknownHandler,
    );
  });

  test('lists are filtered by id, state and labels', async (t) => {
    const subject = subjectOf();
    const ready = await runPod(subject);
    const stopped = await runPod(subject);
    t.after(() => Promise.all([ready.remove(), stopped.remove()]));
    await subject.cri.runtime.stopPodSandbox({ podSandboxId: stopped.id }, signal);
    const both = [ready.id, stopped.id];
    const chosen = async (filter: Parameters<typeof podIds>[1]) =>
      new Set((await podIds(subject, filter)).filter((id) => both.includes(id)));

    assert.deepEqual(await chosen(undefined), new Set(both));
    assert.deepEqual(await chosen({ id: ready.id }), new Set([ready.id]));
    assert.deepEqual(await chosen({ state: { state: PodSandboxState.SANDBOX_NOTREADY } }), new Set([stopped.id]));
    assert.deepEqual(await chosen({ labelSelector: { app: ready.config.metadata?.name ?? '' } }), new Set([ready.id]));
    assert.deepEqual(await chosen({ id: ready.id, state: { state: PodSandboxState.SANDBOX_NOTREADY } }), new Set());
    assert.deepEqual(await chosen({ labelSelector: { app: 'unknown' } }), new Set());
  });

  test('stopping a sandbox kills its containers, releases its address, and is idempotent', async (t) => {
    const subject = subjectOf();
    const pod = await runPod(subject);
    t.after(pod.remove);
    const running = await pod.start('obedient');
    const created = await pod.create('succeeds');
    await subject.cri.runtime.stopPodSandbox({ podSandboxId: pod.id }, signal);
    await subject.cri.runtime.stopPodSandbox({ podSandboxId: pod.id }, signal);

    const status = await sandboxStatus(pod.id);
    assert.deepEqual([status?.state, status?.network?.ip], [PodSandboxState.SANDBOX_NOTREADY, '']);
    const { state, exitCode } = await statusOf(subject, running);
    assert.deepEqual([state, exitCode], [ContainerState.CONTAINER_EXITED, 137]);
    assert.equal((await statusOf(subject, created)).state, ContainerState.CONTAINER_CREATED);
  });

  test('nothing is created or started in a stopped sandbox', async (t) => {
    const subject = subjectOf();
    const pod = await runPod(subject);
    t.after(pod.remove);
    const created = await pod.create('obedient');
    await subject.cri.runtime.stopPodSandbox({ podSandboxId: pod.id }, signal);
    await assert.rejects(pod.create('succeeds'), subject.errors.createInStopped);
    await assert.rejects(
      subject.cri.runtime.startContainer({ containerId: created }, signal),
      subject.errors.startInStopped(pod.id),
    );
    const { state, exitCode, reason } = await statusOf(subject, created);
    assert.deepEqual([state, exitCode, reason], [ContainerState.CONTAINER_EXITED, 128, 'StartError']);
  });

  test('removing a sandbox removes its containers in any state', async () => {
    const subject = subjectOf();
    const pod = await runPod(subject);
    const containers = [await pod.start('stubborn'), await pod.create('obedient')];
    await pod.remove();
    await pod.remove();
    await assert.rejects(sandboxStatus(pod.id), { code: 'NotFound' });
    for (const id of containers) await assert.rejects(statusOf(subject, id), { code: 'NotFound' });
    assert.deepEqual(await podIds(subject, { id: pod.id }), []);
  });

  test('an unknown sandbox has no status, and can be removed', async () => {
    const { errors, cri } = subjectOf();
    await assert.rejects(sandboxStatus('unknown'), errors.unknownSandbox);
    await assertRejectsIfExpected(
      cri.runtime.stopPodSandbox({ podSandboxId: 'unknown' }, signal),
      errors.stopUnknownSandbox,
    );
    await cri.runtime.removePodSandbox({ podSandboxId: 'unknown' }, signal);
  });
}
