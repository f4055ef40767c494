import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ContainerState } from '../../../src/cri/generated/runtime-v1.ts';
import { EXEC_MISSING, EXEC_MIXED, EXEC_SLOW, type ProgramName } from './programs.ts';
import {
  containerIds,
  eventually,
  exitedStatus,
  rejectsOrNot,
  runPod,
  type Subject,
  signal,
  statusOf,
} from './subject.ts';

const { CONTAINER_CREATED, CONTAINER_RUNNING, CONTAINER_EXITED } = ContainerState;

export function containerContract(subjectOf: () => Subject): void {
  const runtime = () => subjectOf().cri.runtime;
  const text = (bytes: Uint8Array) => new TextDecoder().decode(bytes);

  test('a container is created, runs, and ends, with the times of each', async (t) => {
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
    assert.ok(ended.finishedAt >= running.startedAt); // of an end the kernel may tell a time that is a little behind

    await runtime().removeContainer({ containerId }, signal);
    await assert.rejects(statusOf(subject, containerId), { code: 'NotFound' });
  });

  const endings: [ProgramName, number, string][] = [
    ['succeeds', 0, 'Completed'],
    ['fails', 3, 'Error'],
  ];
  for (const [program, code, reason] of endings) {
    test(`a program that ${program} by itself shows exit code ${code}`, async (t) => {
      const pod = await runPod(subjectOf());
      t.after(pod.remove);
      const status = await exitedStatus(subjectOf(), await pod.start(program));
      assert.deepEqual([status.exitCode, status.reason, status.message], [code, reason, '']);
    });
  }

  const stops: { program: ProgramName; seconds: bigint; code: number; what: string }[] = [
    { program: 'obedient', seconds: 30n, code: 143, what: 'ends one that obeys at once' },
    { program: 'takes-its-time', seconds: 30n, code: 7, what: 'waits for one that takes its time' },
    { program: 'stubborn', seconds: 1n, code: 137, what: 'kills one that does not obey after the grace period' },
    { program: 'obedient', seconds: 0n, code: 137, what: 'without grace kills at once' },
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

  test('StopContainer may be repeated, and leaves one alone that never ran', async (t) => {
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

  test('a container starts once', async (t) => {
    const pod = await runPod(subjectOf());
    t.after(pod.remove);
    const containerId = await pod.start('obedient');
    const start = () => runtime().startContainer({ containerId }, signal);
    const refused = (state: string) => subjectOf().refusals.startTwice(containerId, state);
    await assert.rejects(start, refused('CONTAINER_RUNNING'));
    await runtime().stopContainer({ containerId, timeout: 0n }, signal);
    await assert.rejects(start, refused('CONTAINER_EXITED'));
  });

  test('a program that is not there fails the start, and the container has ended with 128', async (t) => {
    const pod = await runPod(subjectOf());
    t.after(pod.remove);
    const containerId = await pod.create('missing');
    await assert.rejects(runtime().startContainer({ containerId }, signal), subjectOf().refusals.programMissing);
    const { state, exitCode, reason, message, startedAt } = await statusOf(subjectOf(), containerId);
    assert.deepEqual([state, exitCode, reason, startedAt], [CONTAINER_EXITED, 128, 'StartError', 0n]);
    assert.match(message, /no such file or directory/i);
  });

  test('removing a container that runs kills it; removing one again is fine', async (t) => {
    const pod = await runPod(subjectOf());
    t.after(pod.remove);
    const containerId = await pod.start('stubborn');
    await runtime().removeContainer({ containerId }, signal);
    await runtime().removeContainer({ containerId }, signal);
    assert.deepEqual(await containerIds(subjectOf(), { podSandboxId: pod.id }), []);
  });

  test('a container name is taken until it is removed; another attempt is another name', async (t) => {
    const pod = await runPod(subjectOf());
    t.after(pod.remove);
    const first = await pod.create('succeeds');
    await assert.rejects(pod.create('succeeds'), subjectOf().refusals.containerNameTaken(first));
    await pod.create('succeeds', { metadata: { name: 'succeeds', attempt: 1 } });
    await runtime().removeContainer({ containerId: first }, signal);
    await pod.create('succeeds');
  });

  test('lists choose by id, sandbox, state and labels', async (t) => {
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

  test('what a program prints is in its log file, a line per line', async (t) => {
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

  test('ExecSync tells output, errors and exit code apart', async (t) => {
    const pod = await runPod(subjectOf());
    t.after(pod.remove);
    const containerId = await pod.start('obedient');
    const { stdout, stderr, exitCode } = await runtime().execSync(
      { containerId, cmd: EXEC_MIXED, timeout: 120n },
      signal,
    );
    assert.deepEqual([text(stdout), text(stderr), exitCode], ['out\n', 'err\n', 4]);
  });

  test('ExecSync fails when the time is over, when the program is not there, and in what does not run', async (t) => {
    const pod = await runPod(subjectOf());
    t.after(pod.remove);
    const containerId = await pod.start('obedient');
    const exec = (cmd: string[], timeout = 120n) => runtime().execSync({ containerId, cmd, timeout }, signal);
    const { refusals } = subjectOf();
    await assert.rejects(exec(EXEC_SLOW, 1n), refusals.execTimeout);
    await assert.rejects(exec(EXEC_MISSING), refusals.execMissing);
    await runtime().stopContainer({ containerId, timeout: 0n }, signal);
    await assert.rejects(exec(EXEC_MIXED), refusals.execStopped);
  });

  test('a container or sandbox that nobody knows is NotFound', async () => {
    const containerId = 'nobody';
    const { unknownContainer, stopUnknownContainer, execUnknown } = subjectOf().refusals;
    await assert.rejects(statusOf(subjectOf(), containerId), unknownContainer);
    await assert.rejects(runtime().startContainer({ containerId }, signal), unknownContainer);
    await rejectsOrNot(runtime().stopContainer({ containerId, timeout: 0n }, signal), stopUnknownContainer);
    await assert.rejects(runtime().execSync({ containerId, cmd: EXEC_MIXED, timeout: 120n }, signal), execUnknown);
    await runtime().removeContainer({ containerId }, signal);
    const request = { podSandboxId: 'nobody', config: undefined, sandboxConfig: undefined };
    await assert.rejects(runtime().createContainer(request, signal), { code: 'NotFound' });
  });
}
