/** A container whose start was interrupted is removed, though containerd has a task that its CRI plugin does not know. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { unstickContainers } from '../../src/cri/unstick-containers.ts';
import { linuxClock } from '../../src/host/linux/process/linux-clock.ts';
import { runPod, signal } from '../contract/cri/subject.ts';
import { skipReason, startContainerd } from './containerd-fixture.ts';
import { CONTAINERD_VERSIONS } from './containerd-programs.ts';
import { containerdSubject } from './containerd-subject.ts';
import { until } from './until.ts';

for (const version of CONTAINERD_VERSIONS) {
  test(`a container with an unknown task can be removed once no process runs in it, by containerd ${version}`, {
    skip: skipReason(version),
    timeout: 900_000,
  }, async (t) => {
    const containerd = await startContainerd({ version });
    const subject = containerdSubject(containerd);
    const { cri } = subject;
    t.after(async () => {
      await subject.stop();
      await containerd.stop();
    });
    const pod = await runPod(subject);
    const containerId = await pod.create('stubborn');
    // As after an interrupted StartContainer: the task exists, and CRI does not know it.
    containerd.ctr('tasks', 'start', '--detach', '--null-io', containerId);
    const runtime = unstickContainers(cri.runtime, { endpoint: containerd.endpoint, clock: linuxClock });
    await assert.rejects(runtime.removeContainer({ containerId }, signal), /cannot delete running task/);
    assert.match(containerd.ctr('tasks', 'ls'), new RegExp(`${containerId} +\\d+ +RUNNING`));

    const [, pid = ''] = containerd.ctr('tasks', 'ls').match(new RegExp(`${containerId} +(\\d+)`)) ?? [];
    process.kill(Number(pid), 'SIGKILL');
    await until(() => new RegExp(`${containerId} +\\d+ +STOPPED`).test(containerd.ctr('tasks', 'ls')));
    await runtime.removeContainer({ containerId }, signal);
    assert.doesNotMatch(containerd.ctr('containers', 'ls'), new RegExp(containerId));
  });
}
