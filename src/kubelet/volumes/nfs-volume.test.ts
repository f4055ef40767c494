import assert from 'node:assert/strict';
import test from 'node:test';
import { claimPod, persistentMachine } from '../../../test/agent/persistent-machine.ts';
import type { Pod, Volume } from '../../api/generated/core-v1.ts';
import { examplePod } from '../sync/config/pod.fixture.ts';
import { checkResponses } from './check-responses.ts';

const signal = new AbortController().signal;
const PATH = '/k/pods/u1/volumes/kubernetes.io~nfs';
const NFS = { server: 'files.example', path: '/export' };

async function machine(mountOptions: readonly string[] = []) {
  const world = await persistentMachine({ nfs: NFS, mountOptions });
  const { mounts, install } = world;
  install('mount', async ({ args }) => {
    const [source = '', target = ''] = args.slice(-2);
    await mounts.mount({ source, target, type: 'nfs4' });
    return 0;
  });
  install('umount', async ({ args }) => {
    await mounts.unmount(args.at(-1) ?? '');
    return 0;
  });
  install('stat', async () => 0);
  return world;
}

function podWith(volume: Omit<Volume, 'name'>): Pod {
  const container = { volumeMounts: [{ name: 'data', mountPath: '/data' }] };
  return examplePod({ spec: { volumes: [{ name: 'data', ...volume }] }, container });
}

/** A program that ends only by a signal. */
const hang = () => new Promise<never>(() => undefined);

const mountCalls: Record<string, { pod: Pod; options?: readonly string[]; call: string }> = {
  'of the pod': { pod: podWith({ nfs: NFS }), call: `mount -t nfs files.example:/export ${PATH}/data` },
  'that is read-only': {
    pod: podWith({ nfs: { ...NFS, readOnly: true } }),
    call: `mount -t nfs -o ro files.example:/export ${PATH}/data`,
  },
  'of an IPv6 server': {
    pod: podWith({ nfs: { ...NFS, server: 'fd00::1' } }),
    call: `mount -t nfs [fd00::1]:/export ${PATH}/data`,
  },
  'of a claim, with its options': {
    pod: claimPod('u1'),
    options: ['nfsvers=4.1', 'hard'],
    call: `mount -t nfs -o hard,nfsvers=4.1 files.example:/export ${PATH}/pv`,
  },
};
for (const [name, { pod, options, call }] of Object.entries(mountCalls)) {
  test(`an NFS volume ${name} is mounted by mount(8), once`, async () => {
    const { calls, targets, start } = await machine(options);
    const volumes = start();
    await volumes.prepare(pod, signal);
    await volumes.prepare(pod, signal);
    assert.deepEqual(calls, [call]);
    await start().release(pod, signal);
    assert.deepEqual(await targets(), []);
    assert.equal(calls.at(-1), `umount ${call.split(' ').at(-1)}`);
  });
}

test('an NFS volume without the helper of mount(8) is reported with the output, and its cause', async () => {
  const { install, start } = await machine();
  const output =
    'mount: /mnt: bad option; for several filesystems (e.g. nfs, cifs) you might need a /sbin/mount.<type> helper program.\n';
  install('mount', async ({ stderr }) => {
    stderr(output);
    return 32;
  });
  await assert.rejects(start().prepare(podWith({ nfs: NFS }), signal), {
    reason: 'FailedMount',
    message: `MountVolume.SetUp failed for volume "data" : mount failed: exit status 32\nMounting command: mount\nMounting arguments: -t nfs files.example:/export ${PATH}/data\nOutput: ${output}`,
    podCause: { kind: 'volumeFailed', volume: 'data', cause: { kind: 'programMissing', program: 'mount.nfs' } },
  });
});

test('a mount from a dead server is given up at the deadline of the pod, and its process ends', async () => {
  const { clock, install, start } = await machine();
  const ended: boolean[] = [];
  install('mount', async (context) => {
    context.ended.addEventListener('abort', () => ended.push(true));
    return hang();
  });
  const prepared = assert.rejects(start().prepare(podWith({ nfs: NFS }), signal), {
    message: /: context deadline exceeded$/,
  });
  await clock.advance(123_000);
  await prepared;
  assert.deepEqual(ended, [true]);
});

test('a container of a dead server is not created, and the others are', async () => {
  const { clock, install, start } = await machine();
  const volumes = start();
  await volumes.prepare(podWith({ nfs: NFS }), signal);
  const container = { volumeMounts: [{ name: 'data', mountPath: '/data' }] };
  await checkResponses(container, volumes.volumes('u1'), signal);
  install('stat', hang);
  await checkResponses({}, volumes.volumes('u1'), signal);
  const checked = assert.rejects(checkResponses(container, volumes.volumes('u1'), signal), {
    reason: 'CreateContainerConfigError',
    message: 'volume "data" cannot be used: server of files.example:/export does not respond',
    podCause: {
      kind: 'volumeFailed',
      volume: 'data',
      cause: { kind: 'serverNotResponding', source: 'files.example:/export' },
    },
  });
  await clock.advance(10_000);
  await checked;
});

test('a container of a stale mount is not created', async () => {
  const { install, start } = await machine();
  const volumes = start();
  await volumes.prepare(podWith({ nfs: NFS }), signal);
  install('stat', async ({ stderr }) => {
    stderr("stat: cannot read file system information for '/data': Stale file handle\n");
    return 1;
  });
  const container = { volumeMounts: [{ name: 'data', mountPath: '/data' }] };
  await assert.rejects(checkResponses(container, volumes.volumes('u1'), signal), { message: /is stale/ });
});

test('an unmount from a dead server is forced after a minute, and detached when that hangs too', async () => {
  const { clock, calls, install, targets, start } = await machine();
  const volumes = start();
  const pod = podWith({ nfs: NFS });
  await volumes.prepare(pod, signal);
  install('umount', hang);
  const released = volumes.release(pod, signal);
  await clock.advance(60_000);
  assert.deepEqual(calls.slice(1), [`umount ${PATH}/data`, `umount -f ${PATH}/data`]);
  await clock.advance(30_000);
  await released;
  assert.deepEqual(await targets(), []);
});

test('an unmount that fails is reported, and retried later', async () => {
  const { install, start } = await machine();
  const volumes = start();
  await volumes.prepare(podWith({ nfs: NFS }), signal);
  install('umount', async ({ stderr }) => {
    stderr('umount: target is busy.\n');
    return 32;
  });
  await assert.rejects(volumes.release(podWith({ nfs: NFS }), signal), {
    message: `unmount failed: exit status 32\nUnmounting arguments: ${PATH}/data\nOutput: umount: target is busy.\n`,
  });
});
