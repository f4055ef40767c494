/**
 * A volume of a server that does not answer, on the real kernel: a FUSE file system without a server takes the place of NFS,
 * which not all kernels of tests have. System calls on it hang in the same way.
 */
import assert from 'node:assert/strict';
import { accessSync, constants, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import type { Clock } from '../../src/host/clock.ts';
import { createLinuxHost } from '../../src/host/linux/linux-host.ts';
import { linuxMounts } from '../../src/host/linux/mount/linux-mounts.ts';
import { PodEvents } from '../../src/kubelet/events/pod-events.ts';
import { ManifestObjects } from '../../src/kubelet/objects/manifest-objects.ts';
import { checkResponses } from '../../src/kubelet/volumes/check-responses.ts';
import { PodVolumes } from '../../src/kubelet/volumes/pod-volumes.ts';
import { volumeDeps } from '../../src/kubelet/volumes/volumes.fixture.ts';
import { podOf } from '../agent/memory-agent.ts';
import { needsMounts } from '../contract/host/temporary-folder.ts';

const signal = new AbortController().signal;
/** Deadlines of minutes pass in seconds. */
const TIMES_FASTER = 30;

/** Takes the place of mount(8): the process that holds the server's side open never reads a request. */
const MOUNT_SCRIPT = `#!/bin/sh
for target; do :; done
exec 5<>/dev/fuse
PATH=\${PATH#*:} mount -i -t fuse -o fd=5,rootmode=40000,user_id=0,group_id=0 dead "$target" || exit 32
setsid sleep 300 </dev/null >/dev/null 2>&1 &
echo $! >>"$(dirname "$0")/pids"
`;

const skip = needsMounts || needsFuse();

function needsFuse(): string | false {
  try {
    accessSync('/dev/fuse', constants.R_OK | constants.W_OK);
    return readFileSync('/proc/filesystems', 'utf8').includes('\tfuse\n') ? false : 'the kernel has no FUSE';
  } catch {
    return 'there is no /dev/fuse';
  }
}

function machine(t: TestContext) {
  const folder = mkdtempSync(join(tmpdir(), 'nodelet-dead-'));
  const bin = join(folder, 'bin');
  const rootDir = join(folder, 'kubelet');
  for (const each of [bin, rootDir]) mkdirSync(each);
  writeFileSync(join(bin, 'mount'), MOUNT_SCRIPT, { mode: 0o755 });
  writeFileSync(join(bin, 'pids'), '');
  const mountsHere = async () => (await linuxMounts.list()).filter(({ target }) => target.startsWith(`${folder}/`));
  t.after(async () => {
    for (const { target } of await mountsHere()) await linuxMounts.unmount(target, { lazy: true });
    const pids = readFileSync(join(bin, 'pids'), 'utf8').split('\n').filter(Boolean);
    for (const pid of pids) process.kill(Number(pid), 'SIGKILL');
    rmSync(folder, { recursive: true, force: true });
  });
  const host = createLinuxHost({ ...process.env, PATH: `${bin}:${process.env['PATH']}` });
  const clock: Clock = {
    now: () => host.clock.now(),
    monotonic: () => host.clock.monotonic(),
    sleep: (ms, until) => host.clock.sleep(ms, until),
    deadline: (ms) => host.clock.deadline(ms / TIMES_FASTER),
  };
  const objects = new ManifestObjects({ onChange: () => undefined });
  const deps = volumeDeps({ ...host, clock }, { rootDir, objects, events: new PodEvents(clock) });
  return { volumes: new PodVolumes(deps), fs: host.fs, folder, mountsHere };
}

test('a dead server keeps its own containers from starting, blocks no thread, and its pod is removed', {
  skip,
}, async (t) => {
  const { volumes, fs, folder, mountsHere } = machine(t);
  const container = { name: 'main', volumeMounts: [{ name: 'data', mountPath: '/data' }] };
  const nfs = { server: 'dead.example', path: '/export' };
  const pod = podOf('web', { volumes: [{ name: 'data', nfs }], containers: [container] });
  const { uid } = pod.metadata;
  await volumes.prepare(pod, signal);
  // More calls than Node has threads: each would keep one of them for ever.
  for (let attempt = 0; attempt < 6; attempt++) {
    await volumes.prepare(pod, signal);
    await volumes.refresh(pod, signal);
    await assert.rejects(checkResponses(container, volumes.volumes(uid), signal), {
      reason: 'CreateContainerConfigError',
      message: 'volume "data" cannot be used: server of dead.example:/export does not respond',
    });
  }
  const started = performance.now();
  await Promise.all(Array.from({ length: 8 }, () => fs.stat(folder)));
  assert.ok(performance.now() - started < 1000, 'all threads can be used');

  assert.equal((await mountsHere()).length, 1);
  await volumes.release(pod, signal);
  assert.deepEqual(await mountsHere(), []);
});
