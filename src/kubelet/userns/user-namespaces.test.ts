import assert from 'node:assert/strict';
import test from 'node:test';
import { NamespaceMode, UserNamespace } from '../../cri/generated/runtime-v1.ts';
import { createMemoryHost } from '../../host/fake/memory-host.ts';
import type { KnownHandlerFeatures } from '../pleg/runtime-features.ts';
import { examplePod } from '../sync/config/pod.fixture.ts';
import { UserNamespaces } from './user-namespaces.ts';

const never = new AbortController().signal;
const unit = 65_536;

async function fresh(known: KnownHandlerFeatures = { userNamespaces: true, recursiveReadOnlyMounts: false }) {
  const host = createMemoryHost();
  for (const uid of ['u1', 'u2', 'u3']) await host.fs.makeDirectory(`/var/lib/kubelet/pods/${uid}`);
  const start = (): UserNamespaces =>
    new UserNamespaces(
      {
        ...host,
        features: { refresh: async () => known },
        settings: { rootDir: '/var/lib/kubelet', maxPods: 110 },
      },
      never,
    );
  return { host, start, namespaces: start() };
}

function podOf(uid: string) {
  return examplePod({ metadata: { uid }, spec: { hostUsers: false } });
}

function mapped(first: number): UserNamespace {
  const mapping = { hostId: first, containerId: 0, length: unit };
  return UserNamespace.fromPartial({ mode: NamespaceMode.POD, uids: [mapping], gids: [mapping] });
}

test('a pod without hostUsers has the host’s users', async () => {
  const { namespaces } = await fresh();
  const expected = UserNamespace.fromPartial({ mode: NamespaceMode.NODE });
  assert.deepEqual(await namespaces.namespaceFor(examplePod(), '', never), expected);
  assert.deepEqual(await namespaces.namespaceFor(examplePod({ spec: { hostUsers: true } }), '', never), expected);
});

test('each pod has its own range, and keeps it', async () => {
  const { namespaces, host } = await fresh();
  assert.deepEqual(await namespaces.namespaceFor(podOf('u1'), '', never), mapped(unit));
  assert.deepEqual(await namespaces.namespaceFor(podOf('u2'), '', never), mapped(2 * unit));
  assert.deepEqual(await namespaces.namespaceFor(podOf('u1'), '', never), mapped(unit));
  assert.match(await host.fs.readText('/var/lib/kubelet/pods/u2/userns'), /"hostId":131072/);
});

test('after a restart every pod has its range, and no other pod gets it', async () => {
  const { namespaces, start } = await fresh();
  await namespaces.namespaceFor(podOf('u1'), '', never);
  const again = start();
  assert.deepEqual(await again.namespaceFor(podOf('u2'), '', never), mapped(2 * unit));
  assert.deepEqual(await again.namespaceFor(podOf('u1'), '', never), mapped(unit));
});

test('a released range is free, and its file is removed', async () => {
  const { namespaces, start, host } = await fresh();
  await namespaces.namespaceFor(podOf('u1'), '', never);
  await namespaces.release(podOf('u1'));
  await namespaces.release(podOf('u1'));
  assert.equal(await host.fs.stat('/var/lib/kubelet/pods/u1/userns'), undefined);
  assert.deepEqual(await start().namespaceFor(podOf('u2'), '', never), mapped(unit));
});

test('subordinate ids of kubelet are used, and no others', async () => {
  const { namespaces, host } = await fresh();
  await host.fs.makeDirectory('/etc');
  await host.fs.writeFile('/etc/passwd', 'root:x:0:0::/root:/bin/sh\nkubelet:x:900:900::/:/bin/false\n');
  host.processes.install('getsubids', async ({ stdout }) => {
    stdout('0: kubelet 1048576 7208960\n');
    return 0;
  });
  assert.deepEqual(await namespaces.namespaceFor(podOf('u1'), '', never), mapped(1_048_576));
});

test('a range that could not be written is free, and its file is removed', async () => {
  const { host, namespaces } = await fresh();
  const file = '/var/lib/kubelet/pods/u1/userns';
  const { fs } = host;
  const write = fs.writeAtomic.bind(fs);
  // The file exists, but the sync of its directory has failed.
  fs.writeAtomic = async (...args) => {
    await write(...args);
    throw new Error('no sync');
  };
  await assert.rejects(namespaces.namespaceFor(podOf('u1'), '', never), { message: 'create user namespace: no sync' });
  assert.equal(await fs.stat(file), undefined);
});

const unsupported: Record<string, { known: KnownHandlerFeatures; handler?: string; why: string }> = {
  'the runtime does not support it': {
    known: { userNamespaces: false, recursiveReadOnlyMounts: false },
    why: "can't set `spec.hostUsers: false`, runtime does not support user namespaces",
  },
  'the handler of its class does not support it': {
    known: { userNamespaces: false, recursiveReadOnlyMounts: false },
    handler: 'other',
    why: 'can\'t set `spec.hostUsers: false`, RuntimeClass handler "other" does not support user namespaces',
  },
  'the runtime does not report the handler': {
    known: 'unlisted',
    handler: 'other',
    why: 'can\'t set `spec.hostUsers: false`, RuntimeClass handler "other" does not support user namespaces: the handler "other" is not known',
  },
};

for (const [name, { known, handler = '', why }] of Object.entries(unsupported)) {
  test(`a pod cannot have a user namespace when ${name}`, async () => {
    const { namespaces } = await fresh(known);
    await assert.rejects(namespaces.namespaceFor(podOf('u1'), handler, never), { message: why });
  });
}

test('an invalid file fails the next pod, until it is removed', async () => {
  const { namespaces, host } = await fresh();
  await host.fs.writeFile('/var/lib/kubelet/pods/u3/userns', '{}');
  await assert.rejects(namespaces.namespaceFor(podOf('u1'), '', never), {
    message:
      'record pod mappings for existing pod "u3": invalid user namespace configuration: no more than one mapping allowed.',
  });
  await host.fs.remove('/var/lib/kubelet/pods/u3/userns');
  assert.deepEqual(await namespaces.namespaceFor(podOf('u1'), '', never), mapped(unit));
});

test('a pod whose directory disappears while ranges are restored does not block others', async () => {
  const { namespaces, start, host } = await fresh();
  await namespaces.namespaceFor(podOf('u3'), '', never);
  const { readText } = host.fs;
  host.fs.readText = async (path) => {
    if (path.includes('/u3/')) await host.fs.removeTree('/var/lib/kubelet/pods/u3');
    return readText.call(host.fs, path);
  };
  assert.deepEqual(await start().namespaceFor(podOf('u1'), '', never), mapped(unit));
});
