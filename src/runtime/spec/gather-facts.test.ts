import assert from 'node:assert/strict';
import { test } from 'node:test';
import { SecurityProfile_ProfileType as ProfileType } from '../../cri/generated/runtime-v1.ts';
import { createMemoryHost } from '../../host/fake/memory-host.ts';
import { APPARMOR_DISABLED } from './apparmor-default.ts';
import { buildContainerSpec } from './container-spec.ts';
import { DEFAULT_SECCOMP_PROFILE } from './default-seccomp-profile.ts';
import { createFactSources, gatherFacts } from './gather-facts.ts';
import { noAppArmor } from './load-apparmor-profile.ts';
import { readSpecMachine } from './read-spec-machine.ts';
import type { SpecFacts } from './spec-facts.ts';
import type { SpecRequest } from './spec-request.ts';
import { type Config, containerConfig, sandboxConfig, validRequest } from './testing/valid-request.ts';

const ROOTFS = '/run/n/containers/c1/rootfs';

async function machineWithImage() {
  const { fs } = createMemoryHost();
  for (const folder of [`${ROOTFS}/etc`, '/dev/input', '/dev/pts', '/proc/self', '/srv/data', '/etc/cdi']) {
    await fs.makeDirectory(folder);
  }
  await fs.writeFile('/proc/self/mountinfo', '20 1 0:1 / / rw shared:1 - ext4 d rw\n');
  fs.createDevice('/dev/null', 'characterDevice', { major: 1, minor: 3 });
  fs.createDevice('/dev/console', 'characterDevice', { major: 5, minor: 1 });
  fs.createDevice('/dev/sda', 'blockDevice', { major: 8, minor: 0 }, 0o660);
  fs.createDevice('/dev/input/mice', 'characterDevice', { major: 13, minor: 63 });
  fs.createDevice('/dev/pts/0', 'characterDevice', { major: 136, minor: 0 });
  await fs.symbolicLink('sda', '/dev/disk');
  return fs;
}

type World = Awaited<ReturnType<typeof machineWithImage>>;

function facts(fs: World, config: Config = {}, request: Partial<SpecRequest> = {}): Promise<SpecFacts> {
  const sources = createFactSources({ fs, appArmor: noAppArmor, cdiSpecDirs: ['/etc/cdi', '/run/cdi'] });
  return gatherFacts(validRequest({ container: containerConfig(config), ...request }), sources);
}

test('gatherFacts() collects nothing if nothing is requested', async () => {
  assert.deepEqual(await facts(await machineWithImage()), {
    accounts: { users: [], groups: [] },
    mountSources: new Map(),
    devices: new Map(),
    hostDevices: [],
    appArmor: APPARMOR_DISABLED,
    cdi: [],
  });
});

test('gatherFacts() reads the accounts of the image, skipping invalid lines', async () => {
  const fs = await machineWithImage();
  await fs.writeFile(`${ROOTFS}/etc/passwd`, '# none\nroot:x:0:0:root:/:/bin/sh\nbroken:x:a:0\n\nalice:x:1000:1001\n');
  await fs.writeFile(`${ROOTFS}/etc/group`, 'root:x:0:\nstaff:x:50:alice,bob\n');
  assert.deepEqual((await facts(fs)).accounts, {
    users: [
      { name: 'root', uid: 0, gid: 0 },
      { name: 'alice', uid: 1000, gid: 1001 },
    ],
    groups: [
      { name: 'root', gid: 0, members: [] },
      { name: 'staff', gid: 50, members: ['alice', 'bob'] },
    ],
  });
});

test('gatherFacts() resolves an absolute link within the image, never on the host', async () => {
  const fs = await machineWithImage();
  await fs.writeFile('/etc/passwd', 'secret:x:1:1\n');
  await fs.symbolicLink('/nix/passwd', `${ROOTFS}/etc/passwd`);
  assert.deepEqual((await facts(fs)).accounts.users, []);
  await fs.makeDirectory(`${ROOTFS}/nix`);
  await fs.symbolicLink('../../../../../../../etc/inner', `${ROOTFS}/nix/passwd`);
  await fs.writeFile(`${ROOTFS}/etc/inner`, 'alice:x:1000:1001\n');
  assert.deepEqual((await facts(fs)).accounts.users, [{ name: 'alice', uid: 1000, gid: 1001 }]);
});

test('gatherFacts() resolves the sources of mounts and creates missing ones', async () => {
  const fs = await machineWithImage();
  await fs.symbolicLink('/srv/data', '/srv/link');
  const mounts = [
    { containerPath: '/a', hostPath: '/srv/link' },
    { containerPath: '/b', hostPath: '/srv/new/deep' },
    { containerPath: '/c', hostPath: '/srv/data', propagation: 1 as const },
  ];
  assert.deepEqual(
    (await facts(fs, { mounts })).mountSources,
    new Map<number, object>([
      [0, { path: '/srv/data' }],
      [1, { path: '/srv/new/deep' }],
      [2, { path: '/srv/data', propagation: 'shared' }],
    ]),
  );
  assert.equal((await fs.stat('/srv/new/deep'))?.mode, 0o755);
});

test('gatherFacts() returns the propagation of the original path of an idmapped mount', async () => {
  const fs = await machineWithImage();
  const mountinfo = '20 1 0:1 / / rw shared:1 - ext4 d rw\n21 20 0:2 / /run/n/mapped/0 rw master:1 - ext4 d rw\n';
  await fs.writeFile('/proc/self/mountinfo', mountinfo);
  const mounts = [{ containerPath: '/a', hostPath: '/srv/data', propagation: 1 as const }];
  const mappedSources = new Map([[0, '/run/n/mapped/0']]);
  assert.deepEqual((await facts(fs, { mounts }, { mappedSources })).mountSources.get(0), {
    path: '/run/n/mapped/0',
    mapped: true,
    propagation: 'shared',
  });
});

test('gatherFacts() resolves a sub-path of an image volume without leaving it', async () => {
  const fs = await machineWithImage();
  await fs.makeDirectory('/images/0/real');
  await fs.symbolicLink('/real', '/images/0/link');
  const mounts = [{ containerPath: '/a', image: { image: 'x' }, imageSubPath: 'link' }];
  const found = await facts(fs, { mounts }, { imageVolumes: new Map([[0, '/images/0']]) });
  assert.deepEqual(found.mountSources, new Map([[0, { path: '/images/0/real' }]]));
});

test('gatherFacts() finds devices, one or all of a directory', async () => {
  const fs = await machineWithImage();
  const devices = [
    { hostPath: '/dev/disk', containerPath: '/dev/xvda', permissions: 'r' },
    { hostPath: '/dev/input', containerPath: '', permissions: '' },
  ];
  const found = await facts(fs, { devices });
  const disk = { path: '/dev/xvda', type: 'b', major: 8, minor: 0, fileMode: 0o660, uid: 0, gid: 0 };
  const mice = { path: '/dev/input/mice', type: 'c', major: 13, minor: 63, fileMode: 0o666, uid: 0, gid: 0 };
  assert.deepEqual(
    found.devices,
    new Map([
      [0, [disk]],
      [1, [mice]],
    ]),
  );
  const { linux } = buildContainerSpec(validRequest({ container: containerConfig({ devices }) }), found);
  assert.deepEqual(linux.devices, [disk, mice]);
  assert.deepEqual(linux.resources.devices, [
    { allow: false, access: 'rwm' },
    { allow: true, type: 'b', major: 8, minor: 0, access: 'r' },
    { allow: true, type: 'c', major: 13, minor: 63, access: 'rwm' },
  ]);
});

test('gatherFacts() finds all devices for a privileged container, except for entries of other programs', async () => {
  const sandbox = sandboxConfig({ linux: { securityContext: { privileged: true } } });
  const found = await facts(
    await machineWithImage(),
    { linux: { securityContext: { privileged: true } } },
    { sandbox },
  );
  assert.deepEqual(
    found.hostDevices.map(({ path }) => path),
    ['/dev/input/mice', '/dev/null', '/dev/sda'],
  );
});

test('gatherFacts() needs no file of the machine for the default seccomp profile', async () => {
  const config = { linux: { securityContext: { seccomp: { profileType: ProfileType.RuntimeDefault } } } };
  assert.equal((await facts(await machineWithImage(), config)).seccomp, DEFAULT_SECCOMP_PROFILE);
});

test('gatherFacts() reads a local profile, from either field', async () => {
  const fs = await machineWithImage();
  await fs.writeFile('/own.json', '{"defaultAction":"SCMP_ACT_LOG"}');
  const profile = { defaultAction: 'SCMP_ACT_LOG', archMap: [], syscalls: [] };
  const newer = { seccomp: { profileType: ProfileType.Localhost, localhostRef: '/own.json' } };
  assert.deepEqual((await facts(fs, { linux: { securityContext: newer } })).seccomp, profile);
  const older = { seccompProfilePath: 'localhost//own.json' };
  assert.deepEqual((await facts(fs, { linux: { securityContext: older } })).seccomp, profile);
});

test('readSpecMachine() reads the capabilities of the machine', async () => {
  const fs = await machineWithImage();
  await fs.makeDirectory('/sys/fs/cgroup/user.slice');
  await fs.makeDirectory('/proc/sys/kernel');
  await fs.writeFile('/sys/fs/cgroup/cgroup.controllers', 'cpu memory hugetlb\n');
  await fs.writeFile('/sys/fs/cgroup/user.slice/memory.swap.max', 'max\n');
  await fs.writeFile('/proc/self/status', 'CapEff:\t0000000000000003\nCapBnd:\t0000000000000005\nSeccomp:\t0\n');
  await fs.writeFile('/proc/self/oom_score_adj', '-5\n');
  await fs.writeFile('/proc/self/cgroup', '0::/\n');
  await fs.writeFile('/proc/sys/kernel/hostname', 'node-1\n');
  await fs.writeFile('/proc/sys/kernel/osrelease', '6.1.0\n');
  assert.deepEqual(
    await readSpecMachine({ architecture: 'arm64', mayLowerOomScore: false, cgroupDriver: 'systemd' }, fs),
    {
      cgroupDriver: 'systemd',
      architecture: 'arm64',
      mayLowerOomScore: false,
      cgroupVersion: 'v2',
      hugePages: true,
      swapAccounting: true,
      appArmor: false,
      selinux: false,
      seccomp: true,
      ownOomScoreAdj: -5,
      hostname: 'node-1',
      kernel: '6.1.0',
      capabilities: ['CAP_CHOWN'],
    },
  );
});

test('gatherFacts() reads the accounts of an image once', async () => {
  const fs = await machineWithImage();
  await fs.writeFile(`${ROOTFS}/etc/passwd`, 'web:x:7:8::/:/bin/sh\n');
  const sources = createFactSources({ fs, appArmor: noAppArmor, cdiSpecDirs: [] });
  const usersOf = async (imageId: string) =>
    (await gatherFacts(validRequest({ imageId }), sources)).accounts.users.map(({ name }) => name);
  assert.deepEqual(await usersOf('sha256:1'), ['web']);
  await fs.writeFile(`${ROOTFS}/etc/passwd`, 'other:x:7:8::/:/bin/sh\n');
  assert.deepEqual(await usersOf('sha256:1'), ['web']);
  assert.deepEqual(await usersOf('sha256:2'), ['other']);
});
