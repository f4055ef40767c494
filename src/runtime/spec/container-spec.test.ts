import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  SecurityProfile_ProfileType as ProfileType,
  SupplementalGroupsPolicy,
} from '../../cri/generated/runtime-v1.ts';
import { buildContainerSpec } from './container-spec.ts';
import type { SpecFacts } from './spec-facts.ts';
import type { SpecRequest } from './spec-request.ts';
import {
  type Config,
  containerConfig,
  differences,
  MACHINE,
  sandboxConfig,
  validFacts,
  validRequest,
} from './testing/valid-request.ts';

interface Given {
  readonly config?: Config;
  readonly request?: Partial<SpecRequest>;
  readonly facts?: Partial<SpecFacts>;
}

const NODELET_DEFAULT = { kind: 'applied', profile: 'nodelet-default' } as const;
const CAPABILITIES =
  'CHOWN DAC_OVERRIDE FOWNER FSETID KILL SETGID SETUID SETPCAP NET_BIND_SERVICE NET_RAW SYS_CHROOT MKNOD AUDIT_WRITE SETFCAP'
    .split(' ')
    .map((name) => `CAP_${name}`);
const PATH = 'PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin';
const text = (value: string): Uint8Array => new TextEncoder().encode(value);
const image = validRequest().image;
const secure = (securityContext: NonNullable<NonNullable<Config['linux']>['securityContext']>): Config => ({
  linux: { securityContext },
});
const privilegedPod = sandboxConfig({
  linux: { cgroupParent: '/kubepods/pod1', securityContext: { privileged: true } },
});

test('buildContainerSpec() returns the default specification', () => {
  assert.deepEqual(buildContainerSpec(validRequest(), validFacts()), {
    ociVersion: '1.0.2',
    process: {
      terminal: false,
      user: { uid: 0, gid: 0, additionalGids: [0] },
      args: ['/bin/web'],
      env: [PATH, 'HOSTNAME=pod'],
      cwd: '/',
      capabilities: { bounding: CAPABILITIES, effective: CAPABILITIES, permitted: CAPABILITIES },
      rlimits: [],
      noNewPrivileges: false,
    },
    root: { path: '/run/n/containers/c1/rootfs', readonly: false },
    mounts: [
      { destination: '/proc', type: 'proc', source: 'proc', options: ['nosuid', 'noexec', 'nodev'] },
      {
        destination: '/dev',
        type: 'tmpfs',
        source: 'tmpfs',
        options: ['nosuid', 'strictatime', 'mode=755', 'size=65536k'],
      },
      {
        destination: '/dev/pts',
        type: 'devpts',
        source: 'devpts',
        options: ['nosuid', 'noexec', 'newinstance', 'ptmxmode=0666', 'mode=0620', 'gid=5'],
      },
      { destination: '/dev/mqueue', type: 'mqueue', source: 'mqueue', options: ['nosuid', 'noexec', 'nodev'] },
      { destination: '/sys', type: 'sysfs', source: 'sysfs', options: ['nosuid', 'noexec', 'nodev', 'ro'] },
      {
        destination: '/sys/fs/cgroup',
        type: 'cgroup',
        source: 'cgroup',
        options: ['nosuid', 'noexec', 'nodev', 'relatime', 'ro'],
      },
      { destination: '/etc/hostname', type: 'bind', source: '/s1/hostname', options: ['rbind', 'rprivate', 'rw'] },
      { destination: '/etc/hosts', type: 'bind', source: '/s1/hosts', options: ['rbind', 'rprivate', 'rw'] },
      {
        destination: '/etc/resolv.conf',
        type: 'bind',
        source: '/s1/resolv.conf',
        options: ['rbind', 'rprivate', 'rw'],
      },
      {
        destination: '/dev/shm',
        type: 'bind',
        source: '/s1/shm',
        options: ['rbind', 'rprivate', 'rw', 'nosuid', 'noexec', 'nodev'],
      },
    ],
    annotations: {
      'io.kubernetes.cri.sandbox-id': 's1',
      'io.kubernetes.cri.sandbox-namespace': 'default',
      'io.kubernetes.cri.sandbox-uid': 'uid-1',
      'io.kubernetes.cri.sandbox-name': 'pod',
      'io.kubernetes.cri.container-name': 'web',
      'io.kubernetes.cri.image-name': 'docker.io/library/web:1',
      'io.kubernetes.cri.container-type': 'container',
    },
    linux: {
      namespaces: [
        { type: 'mount' },
        { type: 'network', path: '/ns/net' },
        { type: 'ipc', path: '/ns/ipc' },
        { type: 'uts', path: '/ns/uts' },
        { type: 'pid', path: '/ns/pid' },
      ],
      devices: [],
      cgroupsPath: '/kubepods/pod1/c1',
      resources: { devices: [{ allow: false, access: 'rwm' }] },
      maskedPaths: [],
      readonlyPaths: [],
    },
  });
});

const changes: Record<string, Given & { differs: Record<string, unknown> }> = {
  "takes the image's entrypoint and cmd": {
    config: { command: [] },
    request: { image: { ...image, entrypoint: ['/entry'], cmd: ['serve'] } },
    differs: { 'process.args': ['/entry', 'serve'] },
  },
  "replaces the image's cmd by arguments": {
    config: { command: [], args: ['stop'] },
    request: { image: { ...image, entrypoint: ['/entry'], cmd: ['serve'] } },
    differs: { 'process.args': ['/entry', 'stop'] },
  },
  "drops the image's cmd with a command": {
    config: { args: ['-v'] },
    request: { image: { ...image, entrypoint: ['/entry'], cmd: ['serve'] } },
    differs: { 'process.args': ['/bin/web', '-v'] },
  },
  'reads an entrypoint of one empty word as none': {
    config: { command: [] },
    request: { image: { ...image, entrypoint: [''], cmd: ['serve'] } },
    differs: { 'process.args': ['serve'] },
  },
  "prefers the container's environment to the image's, at its place": {
    config: {
      envs: [
        { key: 'B', value: text('own') },
        { key: 'C', value: text('=') },
      ],
    },
    request: { image: { ...image, env: ['PATH=/opt', 'B=image', 'HOSTNAME'] } },
    differs: { 'process.env': ['PATH=/opt', 'B=own', 'C=='] },
  },
  'uses the host name of the node if the sandbox has none': {
    request: { sandbox: sandboxConfig({ hostname: '' }) },
    differs: { 'process.env': [PATH, 'HOSTNAME=node-1'] },
  },
  'has a terminal': {
    config: { tty: true },
    differs: { 'process.terminal': true, 'process.env': [PATH, 'TERM=xterm', 'HOSTNAME=pod'] },
  },
  'uses the working directory of the image': {
    request: { image: { ...image, workingDir: '/srv' } },
    differs: { 'process.cwd': '/srv' },
  },
  'prefers the working directory of the container': {
    config: { workingDir: '/own' },
    request: { image: { ...image, workingDir: '/srv' } },
    differs: { 'process.cwd': '/own' },
  },
  "knows a uid's group and memberships": {
    config: secure({ runAsUser: { value: 1000n } }),
    differs: { 'process.user.uid': 1000, 'process.user.gid': 1001, 'process.user.additionalGids': [50, 1001] },
  },
  'accepts a uid that the image does not have': {
    config: secure({ runAsUser: { value: 5n }, supplementalGroups: [9n, 7n] }),
    differs: { 'process.user.uid': 5, 'process.user.additionalGids': [0, 7, 9] },
  },
  'prefers the name to the uid': {
    config: secure({ runAsUser: { value: 5n }, runAsUsername: 'alice', runAsGroup: { value: 7n } }),
    differs: { 'process.user.uid': 1000, 'process.user.gid': 7, 'process.user.additionalGids': [7, 50] },
  },
  'ignores groups of the image with the strict policy': {
    config: secure({
      runAsUser: { value: 1000n },
      supplementalGroups: [7n],
      supplementalGroupsPolicy: SupplementalGroupsPolicy.Strict,
    }),
    differs: { 'process.user.uid': 1000, 'process.user.gid': 1001, 'process.user.additionalGids': [7, 1001] },
  },
  "is the image's user": {
    request: { image: { ...image, user: 'alice:staff' } },
    differs: { 'process.user.uid': 1000, 'process.user.gid': 50, 'process.user.additionalGids': [50] },
  },
  'has no new privileges, and a read-only root': {
    config: secure({ noNewPrivs: true, readonlyRootfs: true }),
    differs: {
      'process.noNewPrivileges': true,
      'root.readonly': true,
      mounts: buildContainerSpec(validRequest(), validFacts()).mounts.map((mount) =>
        mount.destination.startsWith('/etc/') ? { ...mount, options: ['rbind', 'rprivate', 'ro'] } : mount,
      ),
    },
  },
  'has its own PID namespace': {
    config: secure({ namespaceOptions: { pid: 1 } }),
    differs: {
      'linux.namespaces': [
        ...buildContainerSpec(validRequest(), validFacts()).linux.namespaces.slice(0, 4),
        { type: 'pid' },
      ],
    },
  },
  'joins the PID namespace of another container': {
    config: secure({ namespaceOptions: { pid: 3, targetId: 'c0' } }),
    request: { targetPidNamespace: '/proc/7/ns/pid' },
    differs: {
      'linux.namespaces': [
        ...buildContainerSpec(validRequest(), validFacts()).linux.namespaces.slice(0, 4),
        { type: 'pid', path: '/proc/7/ns/pid' },
      ],
    },
  },
  "has the node's namespaces where the sandbox has them": {
    config: secure({ namespaceOptions: { network: 2, pid: 2, ipc: 2 } }),
    request: {
      namespaces: {},
      sandbox: sandboxConfig({
        linux: {
          cgroupParent: '/kubepods/pod1',
          securityContext: { namespaceOptions: { network: 2, pid: 2, ipc: 2 } },
        },
      }),
    },
    differs: {
      'linux.namespaces': [{ type: 'mount' }],
      mounts: buildContainerSpec(validRequest(), validFacts()).mounts.map((mount) =>
        mount.destination === '/dev/shm' ? { ...mount, options: ['rbind', 'rprivate', 'rw'] } : mount,
      ),
    },
  },
  'has a cgroup namespace with cgroups v2': {
    request: { machine: { ...MACHINE, cgroupVersion: 'v2' } },
    differs: {
      'linux.namespaces': [...buildContainerSpec(validRequest(), validFacts()).linux.namespaces, { type: 'cgroup' }],
    },
  },
  'has limits': {
    config: {
      linux: {
        resources: {
          cpuPeriod: 100_000n,
          cpuQuota: 50_000n,
          cpuShares: 512n,
          memoryLimitInBytes: 2n ** 27n,
          oomScoreAdj: -997n,
          cpusetCpus: '0-1',
          cpusetMems: '0',
          hugepageLimits: [{ pageSize: '2MB', limit: 4096n }],
        },
      },
    },
    differs: {
      'process.oomScoreAdj': -997,
      'linux.resources.cpu': { shares: 512, quota: 50_000, period: 100_000, cpus: '0-1', mems: '0' },
      'linux.resources.memory': { limit: 134_217_728, swap: 134_217_728 },
      'linux.resources.hugepageLimits': [{ pageSize: '2MB', limit: 4096 }],
    },
  },
  'has no limit that the machine does not support': {
    config: {
      linux: { resources: { memoryLimitInBytes: 1024n, oomScoreAdj: -997n, hugepageLimits: [{ pageSize: '2MB' }] } },
    },
    request: {
      machine: { ...MACHINE, swapAccounting: false, hugePages: false, mayLowerOomScore: false, ownOomScoreAdj: -5 },
    },
    differs: { 'process.oomScoreAdj': -5, 'linux.resources.memory': { limit: 1024 } },
  },
  'masks the requested paths': {
    config: secure({ maskedPaths: ['/proc/acpi'], readonlyPaths: ['/proc/sys'] }),
    differs: { 'linux.maskedPaths': ['/proc/acpi'], 'linux.readonlyPaths': ['/proc/sys'] },
  },
  'confines with a loaded AppArmor profile': {
    config: secure({ apparmor: { profileType: ProfileType.Localhost, localhostRef: 'localhost/mine' } }),
    facts: { appArmor: { loaded: new Set(['mine', 'nodelet-default']), byDefault: NODELET_DEFAULT } },
    differs: { 'process.apparmorProfile': 'mine' },
  },
  'confines with the default AppArmor profile if none is specified': {
    facts: { appArmor: { loaded: new Set(['nodelet-default']), byDefault: NODELET_DEFAULT } },
    differs: { 'process.apparmorProfile': 'nodelet-default' },
  },
  'has SELinux labels where the machine has SELinux': {
    config: secure({ selinuxOptions: { user: 'u', role: 'r', type: 't', level: 's0:c1,c2' } }),
    request: { machine: { ...MACHINE, selinux: true } },
    differs: { 'process.selinuxLabel': 'u:r:t:s0:c1,c2', 'linux.mountLabel': 'u:object_r:container_file_t:s0:c1,c2' },
  },
  'only validates SELinux options without SELinux': { config: secure({ selinuxOptions: { type: 't' } }), differs: {} },
  'uses a default parent cgroup': {
    request: { sandbox: sandboxConfig({ linux: {} }) },
    differs: { 'linux.cgroupsPath': '/nodelet/c1' },
  },
  'ignores fields that only the record stores': {
    config: {
      labels: { a: 'b' },
      annotations: { c: 'd' },
      logPath: 'web.log',
      stdin: true,
      stdinOnce: true,
      stopSignal: 3,
      image: { image: 'x' },
    },
    differs: {},
  },
};

for (const [name, { config, request, facts, differs }] of Object.entries(changes)) {
  test(`buildContainerSpec() ${name}`, () => {
    const before = buildContainerSpec(validRequest(), validFacts());
    const after = buildContainerSpec(
      validRequest({ container: containerConfig(config), ...request }),
      validFacts(facts),
    );
    assert.deepEqual(differences(before, after), differs);
  });
}

test('buildContainerSpec() gives a privileged container all rights of the machine', () => {
  const device = { path: '/dev/sda', type: 'b', major: 8, minor: 0, fileMode: 0o660, uid: 0, gid: 6 } as const;
  const config = secure({ privileged: true, maskedPaths: ['/proc/acpi'], readonlyPaths: ['/proc/sys'] });
  const machine = { ...MACHINE, cgroupVersion: 'v2', capabilities: ['CAP_CHOWN', 'CAP_SYS_ADMIN'] } as const;
  const request = validRequest({ container: containerConfig(config), sandbox: privilegedPod, machine });
  const { process, mounts, linux } = buildContainerSpec(request, validFacts({ hostDevices: [device] }));
  assert.deepEqual(process.capabilities.bounding, machine.capabilities);
  assert.deepEqual(
    mounts.filter(({ destination }) => destination.startsWith('/sys')).map(({ options }) => options.at(-1)),
    ['rw', 'rw'],
  );
  assert.deepEqual(linux.devices, [device]);
  assert.deepEqual(linux.resources, { devices: [{ allow: true, access: 'rwm' }] });
  assert.deepEqual([linux.maskedPaths, linux.readonlyPaths], [[], []]);
  assert.ok(!linux.namespaces.some(({ type }) => type === 'cgroup'));
});

const userMap = { uids: [{ containerId: 0, hostId: 7, length: 9 }], gids: [{ containerId: 0, hostId: 8, length: 9 }] };

test('buildContainerSpec() joins the user namespace of the sandbox', () => {
  const options = { usernsOptions: { mode: 0, ...userMap } } as const;
  const request = validRequest({
    container: containerConfig(secure({ namespaceOptions: options })),
    sandbox: sandboxConfig({ linux: { securityContext: { namespaceOptions: options } } }),
    namespaces: { pid: '/ns/pid', user: { path: '/ns/user', idMap: userMap } },
  });
  const { linux } = buildContainerSpec(request, validFacts());
  const uidMappings = [{ containerID: 0, hostID: 7, size: 9 }];
  const gidMappings = [{ containerID: 0, hostID: 8, size: 9 }];
  assert.deepEqual(linux.namespaces.at(-1), { type: 'user', path: '/ns/user' });
  assert.deepEqual([linux.uidMappings, linux.gidMappings], [uidMappings, gidMappings]);
});
