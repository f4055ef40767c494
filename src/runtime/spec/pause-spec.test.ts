import assert from 'node:assert/strict';
import { test } from 'node:test';
import { DEFAULT_HANDLER } from '../settings/runtime-settings.ts';
import { execProcess } from './exec-process.ts';
import { buildPauseSpec, type PauseRequest } from './pause-spec.ts';
import { differences, MACHINE, sandboxConfig } from './testing/valid-request.ts';

const healthy: PauseRequest = {
  sandboxId: 's1',
  config: sandboxConfig({ linux: { cgroupParent: '/kubepods/pod1' } }),
  rootfs: '/run/n/containers/s1/rootfs',
  pauseProgram: '/usr/bin/catatonit',
  pinned: { network: '/ns/net', ipc: '/ns/ipc', uts: '/ns/uts' },
  machine: MACHINE,
  handler: DEFAULT_HANDLER,
};

test('buildPauseSpec() has no rights', () => {
  const { process, root, mounts, linux, hostname } = buildPauseSpec(healthy);
  assert.deepEqual(process, {
    terminal: false,
    user: { uid: 0, gid: 0, additionalGids: [0] },
    args: ['/pause', '-P'],
    env: ['PATH=/'],
    cwd: '/',
    capabilities: { bounding: [], effective: [], permitted: [] },
    rlimits: [],
    noNewPrivileges: true,
    oomScoreAdj: -998,
  });
  assert.deepEqual(root, { path: '/run/n/containers/s1/rootfs', readonly: true });
  assert.deepEqual(
    mounts.map(({ destination, source }) => [destination, source]),
    [
      ['/proc', 'proc'],
      ['/dev', 'tmpfs'],
      ['/pause', '/usr/bin/catatonit'],
    ],
  );
  assert.equal(linux.cgroupsPath, '/kubepods/pod1/s1');
  assert.deepEqual(linux.resources, { devices: [{ allow: false, access: 'rwm' }], cpu: { shares: 2 } });
  assert.deepEqual(linux.namespaces, [
    { type: 'mount' },
    { type: 'network', path: '/ns/net' },
    { type: 'ipc', path: '/ns/ipc' },
    { type: 'uts', path: '/ns/uts' },
    { type: 'pid' },
  ]);
  assert.equal(hostname, undefined);
});

test('buildPauseSpec() creates all namespaces in a user namespace, which must own them', () => {
  const ids = [{ containerId: 0, hostId: 7, length: 9 }];
  const config = sandboxConfig({
    linux: {
      cgroupParent: '/kubepods/pod1',
      sysctls: { 'net.core.somaxconn': '9' },
      securityContext: { namespaceOptions: { usernsOptions: { mode: 0, uids: ids, gids: ids } } },
    },
  });
  const mapped = [{ containerID: 0, hostID: 7, size: 9 }];
  assert.deepEqual(differences(buildPauseSpec(healthy), buildPauseSpec({ ...healthy, config, pinned: {} })), {
    hostname: 'pod',
    'linux.namespaces': (['mount', 'network', 'ipc', 'uts', 'pid', 'user'] as const).map((type) => ({ type })),
    'linux.uidMappings': mapped,
    'linux.gidMappings': mapped,
    'linux.sysctl': { 'net.core.somaxconn': '9' },
  });
});

test('buildPauseSpec() uses the user of the sandbox, and the lowest possible OOM score', () => {
  const config = sandboxConfig({
    linux: {
      cgroupParent: '/kubepods/pod1',
      securityContext: { runAsUser: { value: 5n }, runAsGroup: { value: 6n }, supplementalGroups: [3n] },
    },
  });
  const machine = { ...MACHINE, mayLowerOomScore: false };
  assert.deepEqual(differences(buildPauseSpec(healthy), buildPauseSpec({ ...healthy, config, machine })), {
    'process.user.uid': 5,
    'process.user.gid': 6,
    'process.user.additionalGids': [3, 6],
    'process.oomScoreAdj': 0,
  });
});

test('buildPauseSpec() rejects a group without a user', () => {
  const config = sandboxConfig({ linux: { securityContext: { runAsGroup: { value: 6n } } } });
  assert.throws(() => buildPauseSpec({ ...healthy, config }), {
    message: 'linux.security_context.run_as_group: user group "6" is specified without user',
  });
});

test('execProcess() copies the first process, with its own command and terminal', () => {
  const spec = buildPauseSpec(healthy);
  assert.deepEqual(differences(spec.process, execProcess(spec, { cmd: ['ls'], tty: true })), {
    terminal: true,
    args: ['ls'],
    env: ['PATH=/', 'TERM=xterm'],
  });
});
