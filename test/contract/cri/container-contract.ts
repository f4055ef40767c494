import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ContainerState, ImageSpec, Mount } from '../../../src/cri/generated/runtime-v1.ts';
import { EXEC_MISSING, EXEC_MIXED, EXEC_SLOW, type ProgramName } from './programs.ts';
import {
  assertRejectsIfExpected,
  containerIds,
  eventually,
  exitedStatus,
  runPod,
  type Subject,
  signal,
  statusOf,
} from './subject.ts';

const { CONTAINER_CREATED, CONTAINER_RUNNING, CONTAINER_EXITED } = ContainerState;

export function containerContract(subjectOf: () => Subject): void {
  const runtime = () => subjectOf().cri.runtime;
  const text = (bytes: Uint8Array) => new TextDecoder().decode(bytes);

  test('a container is created, runs and exits, with the time of each', async (t) => {
    const subject = subjectOf();
    const pod = await runPod(subject);
    t.after(pod.remove);
    const containerId = await pod.create('obedient');
    const created = await statusOf(subject, containerId);
    assert.deepEqual([created.state, created.startedAt, created.finishedAt], [CONTAINER_CREATED, 0n, 0n]);
    assert.deepEqual(created.metadata, { name: 'obedient', attempt: 0 });
    assert.deepEqual([created.labels, created.annotations], [{ program: 'obedient' }, { note: 'kept too' }]);
    assert.equal(created.image?.image, subject.image);
    assert.equal(created.logPath, `${pod.config.logDirectory}/obedient/0.log`);

    await runtime().startContainer({ containerId }, signal);
    const running = await statusOf(subject, containerId);
    assert.deepEqual([running.state, running.finishedAt], [CONTAINER_RUNNING, 0n]);
    assert.ok(running.startedAt >= created.createdAt);

    await runtime().stopContainer({ containerId, timeout: 0n }, signal);
    const ended = await statusOf(subject, containerId);
    assert.deepEqual([ended.state, ended.exitCode, ended.reason], [CONTAINER_EXITED, 137, 'Error']);
    assert.deepEqual([ended.createdAt, ended.startedAt], [created.createdAt, running.startedAt]);
    assert.ok(ended.finishedAt >= running.startedAt); // the kernel's time of an exit may be slightly behind

    await runtime().removeContainer({ containerId }, signal);
    await assert.rejects(statusOf(subject, containerId), { code: 'NotFound' });
  });

  const endings: [ProgramName, number, string][] = [
    ['succeeds', 0, 'Completed'],
    ['fails', 3, 'Error'],
  ];
  for (const [program, code, reason] of endings) {
    test(`a program that ${program} by itself has exit code ${code}`, async (t) => {
      const pod = await runPod(subjectOf());
      t.after(pod.remove);
      const status = await exitedStatus(subjectOf(), await pod.start(program));
      assert.deepEqual([status.exitCode, status.reason, status.message], [code, reason, '']);
    });
  }

  const stops: { program: ProgramName; seconds: bigint; code: number; what: string }[] = [
    { program: 'obedient', seconds: 30n, code: 143, what: 'stops a program that handles SIGTERM at once' },
    { program: 'takes-its-time', seconds: 30n, code: 7, what: 'waits for a program that exits later' },
    {
      program: 'stubborn',
      seconds: 1n,
      code: 137,
      what: 'kills a program that ignores SIGTERM after the grace period',
    },
    { program: 'obedient', seconds: 0n, code: 137, what: 'without a grace period kills at once' },
  ];
  for (const { program, seconds, code, what } of stops) {
    test(`StopContainer ${what}`, async (t) => {
      const pod = await runPod(subjectOf());
      t.after(pod.remove);
      const containerId = await pod.start(program);
      const begun = performance.now();
      await runtime().stopContainer({ containerId, timeout: seconds }, signal);
      const took = performance.now() - begun;
      const { state, exitCode } = await statusOf(subjectOf(), containerId);
      assert.deepEqual([state, exitCode], [CONTAINER_EXITED, code]);
      assert.ok(program !== 'stubborn' || took >= 950, `took ${took} ms`);
    });
  }

  test('StopContainer is idempotent, and does not change a container that never ran', async (t) => {
    const pod = await runPod(subjectOf());
    t.after(pod.remove);
    const ended = await pod.start('fails');
    await exitedStatus(subjectOf(), ended);
    await runtime().stopContainer({ containerId: ended, timeout: 1n }, signal);
    assert.equal((await statusOf(subjectOf(), ended)).exitCode, 3);

    const created = await pod.create('obedient');
    await runtime().stopContainer({ containerId: created, timeout: 1n }, signal);
    assert.equal((await statusOf(subjectOf(), created)).state, CONTAINER_CREATED);
    await runtime().startContainer({ containerId: created }, signal);
  });

  test('a container can be started once', async (t) => {
    const pod = await runPod(subjectOf());
    t.after(pod.remove);
    const containerId = await pod.start('obedient');
    const start = () => runtime().startContainer({ containerId }, signal);
    const alreadyStarted = (state: string) => subjectOf().errors.startTwice(containerId, state);
    await assert.rejects(start, alreadyStarted('CONTAINER_RUNNING'));
    await runtime().stopContainer({ containerId, timeout: 0n }, signal);
    await assert.rejects(start, alreadyStarted('CONTAINER_EXITED'));
  });

  test('a missing program fails the start, and the container has exited with 128', async (t) => {
    const pod = await runPod(subjectOf());
    t.after(pod.remove);
    const containerId = await pod.create('missing');
    await assert.rejects(runtime().startContainer({ containerId }, signal), subjectOf().errors.programMissing);
    const { state, exitCode, reason, message, startedAt } = await statusOf(subjectOf(), containerId);
    assert.deepEqual([state, exitCode, reason, startedAt], [CONTAINER_EXITED, 128, 'StartError', 0n]);
    assert.match(message, /no such file or directory/i);
  });

  test('removing a running container kills it, and is idempotent', async (t) => {
    const pod = await runPod(subjectOf());
    t.after(pod.remove);
    const containerId = await pod.start('stubborn');
    await runtime().removeContainer({ containerId }, signal);
    await runtime().removeContainer({ containerId }, signal);
    assert.deepEqual(await containerIds(subjectOf(), { podSandboxId: pod.id }), []);
  });

  test('a container name is reserved until the container is removed; another attempt is another name', async (t) => {
    const pod = await runPod(subjectOf());
    t.after(pod.remove);
    const first = await pod.create('succeeds');
    await assert.rejects(pod.create('succeeds'), subjectOf().errors.containerNameTaken(first));
    await pod.create('succeeds', { metadata: { name: 'succeeds', attempt: 1 } });
    await runtime().removeContainer({ containerId: first }, signal);
    await pod.create('succeeds');
  });

  test('an image is mounted read-only, and shown in the status of the container', async (t) => {
    const subject = subjectOf();
    const pod = await runPod(subject);
    t.after(pod.remove);
    const { mountImage, mountUnknownImage, mountWritableImage } = subject.errors;
    const attempt = (number: number, image: string, readonly: boolean) =>
      pod.create('succeeds', {
        metadata: { name: 'succeeds', attempt: number },
        mounts: [Mount.fromPartial({ containerPath: '/image', image: { image }, readonly })],
      });
    await assert.rejects(attempt(0, 'localhost/unknown:1', true), mountUnknownImage);
    await assert.rejects(attempt(1, subject.image, false), mountWritableImage);
    const { image } = await subject.cri.images.imageStatus(
      { image: ImageSpec.create({ image: subject.image }), verbose: false },
      signal,
    );
    const created = attempt(2, image?.id ?? '', true);
    await assertRejectsIfExpected(created, mountImage);
    if (mountImage !== undefined) return;
    const { mounts } = await statusOf(subject, await created);
    assert.deepEqual(
      mounts.map((mount) => mount.image?.image),
      [image?.id],
    );
  });

  test('lists are filtered by id, sandbox, state and labels', async (t) => {
    const subject = subjectOf();
    const pods = [await runPod(subject), await runPod(subject)] as const;
    t.after(() => Promise.all(pods.map((pod) => pod.remove())));
    const running = await pods[0].start('obedient');
    const created = await pods[0].create('fails');
    const other = await pods[1].create('obedient');
    const chosen = async (filter: Parameters<typeof containerIds>[1]) =>
      new Set((await containerIds(subject, filter)).filter((id) => [running, created, other].includes(id)));

    assert.deepEqual(await chosen(undefined), new Set([running, created, other]));
    assert.deepEqual(await chosen({ id: other }), new Set([other]));
    assert.deepEqual(await chosen({ podSandboxId: pods[0].id }), new Set([running, created]));
    assert.deepEqual(await chosen({ state: { state: CONTAINER_RUNNING } }), new Set([running]));
    assert.deepEqual(await chosen({ labelSelector: { program: 'obedient' } }), new Set([running, other]));
    assert.deepEqual(await chosen({ podSandboxId: pods[1].id, labelSelector: { program: 'fails' } }), new Set());
  });

  test('the output of a program is in its log file, one record per line', async (t) => {
    const pod = await runPod(subjectOf());
    t.after(pod.remove);
    const { logPath } = await exitedStatus(subjectOf(), await pod.start('talks'));
    const lines = await eventually(async () => {
      const log = (await subjectOf().readLog(logPath)).trim().split('\n');
      return log.length >= 2 ? log : undefined;
    });
    assert.deepEqual(
      lines.map((line) => line.replace(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d) /, 'TIME ')),
      ['TIME stdout F one', 'TIME stdout F two'],
    );
  });

  test('ExecSync returns stdout, stderr and exit code separately', async (t) => {
    const pod = await runPod(subjectOf());
    t.after(pod.remove);
    const containerId = await pod.start('obedient');
    const { stdout, stderr, exitCode } = await runtime().execSync(
      { containerId, cmd: EXEC_MIXED, timeout: 120n },
      signal,
    );
    assert.deepEqual([text(stdout), text(stderr), exitCode], ['out\n', 'err\n', 4]);
  });

  test('ExecSync fails after its timeout, for a missing program, and in a container that does not run', async (t) => {
    const pod = await runPod(subjectOf());
    t.after(pod.remove);
    const containerId = await pod.start('obedient');
    const exec = (cmd: string[], timeout = 120n) => runtime().execSync({ containerId, cmd, timeout }, signal);
    const { errors } = subjectOf();
    await assert.rejects(exec(EXEC_SLOW, 1n), errors.execTimeout);
    await assert.rejects(exec(EXEC_MISSING), errors.execMissing);
    await runtime().stopContainer({ containerId, timeout: 0n }, signal);
    await assert.rejects(exec(EXEC_MIXED), errors.execStopped);
  });

  test('an unknown container or sandbox is NotFound', async () => {
    const containerId = 'unknown';
    const { unknownContainer, stopUnknownContainer, execUnknown } = subjectOf().errors;
    await assert.rejects(statusOf(subjectOf(), containerId), unknownContainer);
    await assert.rejects(runtime().startContainer({ containerId }, signal), unknownContainer);
    await assertRejectsIfExpected(runtime().stopContainer({ containerId, timeout: 0n }, signal), stopUnknownContainer);
    await assert.rejects(runtime().execSync({ containerId, cmd: EXEC_MIXED, timeout: 120n }, signal), execUnknown);
    await runtime().removeContainer({ containerId }, signal);
    const request = { podSandboxId: 'unknown', config: undefined, sandboxConfig: undefined };
    await assert.rejects(runtime().createContainer(request, signal), { code: 'NotFound' });
  });
}
