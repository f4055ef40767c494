import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { chooseRuntimeEvents } from '../../src/cri/choose-runtime-events.ts';
import { hasCode } from '../../src/cri/cri-error.ts';
import { ContainerState } from '../../src/cri/generated/runtime-v1.ts';
import type { RuntimeEvent } from '../../src/cri/runtime-events.ts';
import { linuxRandom } from '../../src/host/linux/linux-random.ts';
import { linuxClock } from '../../src/host/linux/process/linux-clock.ts';
import { eventually, runPod, signal, statusOf } from '../contract/cri/subject.ts';
import { skipReason, startContainerd, type TestContainerd } from './containerd-fixture.ts';
import { CONTAINERD_VERSIONS } from './containerd-programs.ts';
import { containerdSubject } from './containerd-subject.ts';
import { mountedCgroups, networkNamespaces } from './runtime-cleanup.ts';

const skip = skipReason();

/** Its resources on this machine: processes, mounts, links, cgroups, files. */
function traces({ folder, cgroupParent }: Pick<TestContainerd, 'folder' | 'cgroupParent'>): string[] {
  const processes = readdirSync('/proc').filter((pid) => {
    try {
      return /^\d+$/.test(pid) && readFileSync(`/proc/${pid}/cmdline`, 'utf8').includes(`${folder}/`);
    } catch {
      return false;
    }
  });
  const links = readdirSync('/sys/class/net').filter((name) => name === folder.replace(/.*-(\d+-\d+)$/, 'nlt$1'));
  const cgroups = mountedCgroups().filter((hierarchy) => existsSync(join(hierarchy, cgroupParent)));
  const mounts = readFileSync('/proc/self/mountinfo', 'utf8').includes(folder) ? ['a mount'] : [];
  return [...processes, ...links, ...cgroups, ...mounts, ...(existsSync(folder) ? [folder] : [])];
}

test('two runtimes run in parallel and leave no resources', { skip }, async () => {
  const both = await Promise.all([startContainerd(), startContainerd()]);
  const subjects = both.map(containerdSubject);
  const pods = await Promise.all(subjects.map(runPod));
  await Promise.all(pods.map((pod) => pod.start('stubborn')));
  const namespaces = both.flatMap(({ folder }) => networkNamespaces(folder));
  assert.equal(namespaces.length, 2);
  for (const subject of subjects) await subject.stop();
  await Promise.all(both.map((containerd) => containerd.stop()));
  assert.deepEqual(both.flatMap(traces), []);
  assert.deepEqual(namespaces.filter(existsSync), []);
});

for (const version of CONTAINERD_VERSIONS) {
  test(`containers outlive containerd ${version}, and a broken event stream is reported`, {
    skip: skipReason(version),
  }, async (t) => {
    const containerd = await startContainerd({ version });
    t.after(() => containerd.stop());
    const subject = containerdSubject(containerd);
    t.after(() => subject.stop());
    const pod = await runPod(subject);
    const containerId = await pod.start('obedient');
    const { endpoint } = containerd;
    const events = await chooseRuntimeEvents(
      { endpoint, runtime: subject.cri.runtime, clock: linuxClock, random: linuxRandom },
      signal,
    );
    assert.ok(events);

    const seen: RuntimeEvent[] = [];
    const watching = (async () => {
      for await (const event of events.watch(signal)) seen.push(event);
    })();
    await eventually(async () => (seen.length > 0 ? true : undefined));
    const broken = assert.rejects(watching, (error) => hasCode(error, 'Unavailable'));
    await containerd.restart();
    await broken;

    const { state, startedAt } = await eventually(() => statusOf(subject, containerId).catch(() => undefined));
    assert.equal(state, ContainerState.CONTAINER_RUNNING);
    assert.ok(startedAt > 0n);
  });
}

test('the resources of a killed run are removed by the next', { skip }, async () => {
  const script = `
    const { startContainerd } = await import(${JSON.stringify(join(import.meta.dirname, 'containerd-fixture.ts'))});
    const containerd = await startContainerd();
    console.log(JSON.stringify(containerd));
    setInterval(() => {}, 1000);`;
  const child = spawn(process.execPath, ['--input-type=module', '--eval', script], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const [line] = await once(child.stdout, 'data');
  const killed: TestContainerd = JSON.parse(String(line));
  const subject = containerdSubject(killed);
  await (await runPod(subject)).start('stubborn');
  const namespaces = networkNamespaces(killed.folder);
  await subject.stop();
  child.kill('SIGKILL');
  await once(child, 'exit');
  assert.ok(traces(killed).length > 0 && namespaces.some(existsSync));

  const next = await startContainerd();
  await next.stop();
  assert.deepEqual(traces(killed), []);
  assert.deepEqual(namespaces.filter(existsSync), []);
});
