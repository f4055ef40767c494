/** Generated OCI specs, run by the real crun and runc on a busybox root file system. */
import assert from 'node:assert/strict';
import { execFileSync, spawnSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { after, before, test } from 'node:test';
import {
  ContainerConfig,
  MountPropagation,
  NamespaceMode,
  PodSandboxConfig,
  SecurityProfile_ProfileType as ProfileType,
} from '../../src/cri/generated/runtime-v1.ts';
import { linuxFileSystem } from '../../src/host/linux/fs/linux-file-system.ts';
import { linuxMounts } from '../../src/host/linux/mount/linux-mounts.ts';
import type { OciSpec } from '../../src/runtime/oci/oci-spec.ts';
import { DEFAULT_HANDLER } from '../../src/runtime/settings/runtime-settings.ts';
import { bindMappedMounts } from '../../src/runtime/spec/bind-mapped-mounts.ts';
import { buildContainerSpec } from '../../src/runtime/spec/container-spec.ts';
import { execProcess } from '../../src/runtime/spec/exec-process.ts';
import { createFactSources, gatherFacts } from '../../src/runtime/spec/gather-facts.ts';
import { noAppArmor } from '../../src/runtime/spec/load-apparmor-profile.ts';
import { buildPauseSpec } from '../../src/runtime/spec/pause-spec.ts';
import { readSpecMachine } from '../../src/runtime/spec/read-spec-machine.ts';
import type { SpecMachine, SpecRequest } from '../../src/runtime/spec/spec-request.ts';
import type { SandboxNamespaces } from '../../src/runtime/store/sandbox-record.ts';
import { usableCrun, usableRunc } from './oci-fixture.ts';
import { removeCgroups } from './runtime-cleanup.ts';

const PAUSE = '/usr/bin/catatonit';
const CGROUP_PARENT = `/nodelet-spec-${randomBytes(4).toString('hex')}`;
const USERS = {
  uids: [{ containerId: 0, hostId: 300_000, length: 65_536 }],
  gids: [{ containerId: 0, hostId: 300_000, length: 65_536 }],
};
const OWN_PID = { network: NamespaceMode.NODE, ipc: NamespaceMode.NODE, pid: NamespaceMode.CONTAINER };

const PROGRAMS = [await usableCrun(), await usableRunc()];
const isIdle = PROGRAMS.every(({ skip }) => skip);
let folder = '';
let machine: SpecMachine;
let last = 0;

before(async () => {
  if (isIdle) return;
  folder = mkdtempSync(join(tmpdir(), 'nodelet-spec-'));
  chmodSync(folder, 0o755); // root of a user namespace needs search permission
  machine = await readSpecMachine(
    { architecture: 'amd64', mayLowerOomScore: false, cgroupDriver: 'cgroupfs' },
    linuxFileSystem,
  );
  for (const name of ['hosts', 'hostname', 'resolv.conf'])
    writeFileSync(join(folder, name), `${name} of the sandbox\n`);
  mkdirSync(join(folder, 'shm'));
});

after(() => {
  if (isIdle) return;
  rmSync(folder, { recursive: true, force: true });
  removeCgroups(CGROUP_PARENT);
});

for (const { program, skip } of PROGRAMS) {
  const name = basename(program);
  const skipReason = existsSync(PAUSE) ? skip : `not installed: ${PAUSE}`;

  test(`${name} runs a confined container as it was asked for`, { skip: skipReason }, async () => {
    const spec = await generate({
      command: [
        'sh',
        '-c',
        'id; pwd; echo $GREETING; cat /etc/hostname; touch /x; grep -E "CapEff|NoNewPrivs|Seccomp:" /proc/self/status; cat /proc/self/oom_score_adj; ls /proc/acpi | wc -l; mount -t tmpfs t /mnt',
      ],
      workingDir: '/work',
      envs: [{ key: 'GREETING', value: new TextEncoder().encode('grüß dich') }],
      linux: {
        resources: { oomScoreAdj: 999n, cpuShares: 100n, memoryLimitInBytes: 64n << 20n },
        securityContext: {
          namespaceOptions: OWN_PID,
          runAsUsername: 'alice',
          supplementalGroups: [777n],
          readonlyRootfs: true,
          noNewPrivs: true,
          capabilities: { dropCapabilities: ['ALL'], addCapabilities: ['NET_ADMIN'] },
          seccomp: { profileType: ProfileType.RuntimeDefault },
          maskedPaths: ['/proc/acpi'],
        },
      },
    });
    const { stdout, stderr } = run(program, spec);
    assert.deepEqual(stdout.split('\n'), [
      'uid=1000(alice) gid=1000 groups=777,1000,2000(staff)',
      '/work',
      'grüß dich',
      'hostname of the sandbox',
      'CapEff:\t0000000000000000',
      'NoNewPrivs:\t1',
      'Seccomp:\t2',
      '999',
      '0',
      '',
    ]);
    assert.match(stderr, /touch: \/x: Read-only file system/);
    assert.match(stderr, /mount: .*(denied|permitted)/);
  });

  test(`${name} runs a privileged container with the devices of the machine`, { skip: skipReason }, async () => {
    const spec = await generate({
      command: [
        'sh',
        '-c',
        'ls -l /dev/null /dev/zero | wc -l; mount -t tmpfs t /mnt && echo mounted; grep CapEff /proc/self/status',
      ],
      linux: { securityContext: { namespaceOptions: OWN_PID, privileged: true } },
    });
    const mask = /^CapEff:\s*\w+/m.exec(readFileSync('/proc/self/status', 'utf8'))?.[0];
    assert.deepEqual(run(program, spec).stdout.split('\n'), ['2', 'mounted', mask, '']);
  });

  test(`${name} mounts, makes devices and limits`, { skip: skipReason }, async () => {
    const source = join(folder, `made-by-${name}`);
    const spec = await generate(
      {
        command: [
          'sh',
          '-c',
          'echo kept > /data/file; touch /ro/x; echo $?; ls -l /dev/nothing | cut -c1-10; head -c 4 /dev/nothing | wc -c; cat /vol/mark',
        ],
        mounts: [
          { containerPath: '/data', hostPath: source },
          { containerPath: '/ro', hostPath: folder, readonly: true, propagation: MountPropagation.PROPAGATION_PRIVATE },
        ],
        devices: [{ containerPath: '/dev/nothing', hostPath: '/dev/zero', permissions: 'r' }],
        linux: { securityContext: { namespaceOptions: OWN_PID } },
      },
      { volumes: ['/vol'] },
    );
    assert.deepEqual(run(program, spec).stdout.split('\n'), ['1', 'crw-rw-rw-', '4', 'declared', '']);
    assert.equal(readFileSync(join(source, 'file'), 'utf8'), 'kept\n');
  });

  test(`${name} lets nothing be written below a mount that is read-only throughout`, { skip: skipReason }, async () => {
    const source = join(folder, `tree-of-${name}`);
    const below = join(source, 'below');
    mkdirSync(below, { recursive: true });
    execFileSync('mount', ['-t', 'tmpfs', 'below', below]);
    try {
      const spec = await generate({
        command: ['sh', '-c', 'touch /m/x || touch /m/below/x || echo neither'],
        mounts: [{ containerPath: '/m', hostPath: source, readonly: true, recursiveReadOnly: true }],
        linux: { securityContext: { namespaceOptions: OWN_PID } },
      });
      assert.equal(run(program, spec).stdout, 'neither\n');
    } finally {
      execFileSync('umount', [below]);
    }
  });

  test(`${name} runs a pause container, and containers join its namespaces`, { skip: skipReason }, async () => {
    const config = sandboxConfig({ network: NamespaceMode.NODE, ipc: NamespaceMode.NODE, pid: NamespaceMode.POD });
    const pause = startPause(program, config);
    try {
      const namespaces = { pid: `/proc/${pause.pid}/ns/pid` };
      const spec = await generate(
        // The started process becomes its program a moment later.
        {
          command: [
            'sh',
            '-c',
            'until grep -q pause /proc/1/cmdline; do :; done; tr "\\0" " " < /proc/1/cmdline; echo; exit 7',
          ],
        },
        { config, namespaces },
      );
      const { stdout, status } = run(program, spec);
      assert.equal(stdout, '/pause -P \n');
      assert.equal(status, 7);
    } finally {
      pause.remove();
    }
  });

  test(`${name} joins a user namespace with the network that belongs to it, and writes to a volume as its owner`, {
    skip: skipReason,
  }, async () => {
    const config = sandboxConfig(
      { usernsOptions: { mode: NamespaceMode.POD, ...USERS } },
      { 'net.ipv4.ip_unprivileged_port_start': '80' },
    );
    const pause = startPause(program, config);
    try {
      const of = (kind: string): string => `/proc/${pause.pid}/ns/${kind}`;
      const namespaces = {
        network: of('net'),
        ipc: of('ipc'),
        uts: of('uts'),
        pid: of('pid'),
        user: { path: of('user'), idMap: USERS },
      };
      const words =
        'id -u; cat /proc/self/uid_map; hostname; cat /proc/sys/net/ipv4/ip_unprivileged_port_start; touch /data/own; id -u';
      const options = config.linux?.securityContext?.namespaceOptions;
      const linux = { securityContext: { ...(options && { namespaceOptions: options }) } };
      const source = join(folder, `mapped-by-${name}`);
      const mounts = [
        { containerPath: '/data', hostPath: source, uidMappings: [...USERS.uids], gidMappings: [...USERS.gids] },
      ];
      const partial = { command: ['sh', '-c', words], linux, mounts };
      const mapped = join(folder, `mapped-for-${name}`);
      const container = ContainerConfig.fromPartial(partial);
      const ports = { fs: linuxFileSystem, mounts: linuxMounts };
      const mappedSources = await bindMappedMounts({ container, namespaces }, mapped, ports);
      try {
        const { stdout, stderr } = run(program, await generate(partial, { config, namespaces, mappedSources }));
        assert.deepEqual(
          stdout.split('\n').map((line) => line.trim().replace(/ +/g, ' ')),
          ['0', '0 300000 65536', 'pod', '80', '0', ''],
          stderr,
        );
        assert.equal(statSync(join(source, 'own')).uid, 0, stderr);
      } finally {
        for (const target of mappedSources.values()) await linuxMounts.unmount(target);
      }
    } finally {
      pause.remove();
    }
  });

  test(`${name} takes the process of an exec`, { skip: skipReason }, async () => {
    const config = sandboxConfig({ network: NamespaceMode.NODE, ipc: NamespaceMode.NODE, pid: NamespaceMode.POD });
    const spec = await generate(
      { command: ['sleep', '1000'], envs: [{ key: 'A', value: new TextEncoder().encode('b') }] },
      { config, namespaces: {} },
    );
    const { id, bundle } = bundleOf(spec);
    oci(program, 'create', '--bundle', bundle, id);
    try {
      oci(program, 'start', id);
      writeFileSync(
        join(bundle, 'process.json'),
        JSON.stringify(execProcess(spec, { cmd: ['sh', '-c', 'echo $A $$ $PPID'], tty: false })),
      );
      const { stdout } = spawnSync(
        program,
        [...rootOf(program), 'exec', '--process', join(bundle, 'process.json'), id],
        { encoding: 'utf8' },
      );
      assert.match(stdout, /^b \d+ 0\n$/);
    } finally {
      oci(program, 'delete', '--force', id);
    }
  });
}

interface Setting {
  readonly config?: PodSandboxConfig;
  readonly namespaces?: SandboxNamespaces;
  readonly volumes?: readonly string[];
  readonly mappedSources?: ReadonlyMap<number, string>;
}

async function generate(
  partial: Parameters<typeof ContainerConfig.fromPartial>[0],
  setting: Setting = {},
): Promise<OciSpec> {
  const { config = sandboxConfig(OWN_PID), namespaces = {}, volumes = [], mappedSources } = setting;
  const id = nextId();
  const volumesDir = join(folder, `${id}-volumes`);
  mkdirSync(join(volumesDir, '0'), { recursive: true });
  writeFileSync(join(volumesDir, '0', 'mark'), 'declared\n');
  const request: SpecRequest = {
    id,
    container: ContainerConfig.fromPartial({ metadata: { name: 'c' }, ...partial }),
    sandboxId: 'sandbox',
    sandbox: config,
    image: { user: '', env: [], entrypoint: [], cmd: [], workingDir: '', stopSignal: '', volumes, labels: {} },
    imageName: 'busybox',
    imageId: id,
    rootfs: makeRootfs(id, namespaces.user ? 300_000 : 0),
    namespaces,
    files: {
      hosts: join(folder, 'hosts'),
      hostname: join(folder, 'hostname'),
      resolvConf: join(folder, 'resolv.conf'),
      shm: join(folder, 'shm'),
    },
    imageVolumes: new Map(),
    ...(mappedSources && { mappedSources }),
    volumesDir,
    features: { recursiveReadOnlyMounts: true, userNamespaces: true, idmappedMounts: false },
    handler: DEFAULT_HANDLER,
    machine,
  };
  const sources = createFactSources({ fs: linuxFileSystem, appArmor: noAppArmor, cdiSpecDirs: [] });
  return buildContainerSpec(request, await gatherFacts(request, sources));
}

function sandboxConfig(namespaceOptions: object, sysctls: Record<string, string> = {}): PodSandboxConfig {
  return PodSandboxConfig.fromPartial({
    metadata: { name: 'pod', namespace: 'default', uid: 'u' },
    hostname: 'pod',
    linux: { cgroupParent: CGROUP_PARENT, sysctls, securityContext: { privileged: true, namespaceOptions } },
  });
}

function makeRootfs(id: string, owner: number): string {
  const rootfs = join(folder, id, 'rootfs');
  for (const name of ['bin', 'etc', 'work', 'mnt', 'vol']) mkdirSync(join(rootfs, name), { recursive: true });
  execFileSync('cp', ['/bin/busybox', join(rootfs, 'bin/busybox')]);
  for (const name of 'sh id pwd cat touch grep ls wc mount head cut tr hostname sleep'.split(' ')) {
    symlinkSync('busybox', join(rootfs, 'bin', name));
  }
  writeFileSync(join(rootfs, 'etc/passwd'), 'root:x:0:0::/:\nalice:x:1000:1000::/:\n');
  writeFileSync(join(rootfs, 'etc/group'), 'root:x:0:\nstaff:x:2000:alice\n');
  execFileSync('chown', ['-R', `${owner}:${owner}`, join(folder, id)]);
  return rootfs;
}

function startPause(program: string, config: PodSandboxConfig): { readonly pid: number; remove(): void } {
  const id = nextId();
  const rootfs = join(folder, id, 'rootfs');
  mkdirSync(rootfs, { recursive: true });
  if (config.linux?.securityContext?.namespaceOptions?.usernsOptions) execFileSync('chown', ['300000:300000', rootfs]);
  const pause = { pauseProgram: PAUSE, handler: DEFAULT_HANDLER };
  bundleOf(buildPauseSpec({ sandboxId: id, config, rootfs, ...pause, pinned: {}, machine }), id);
  oci(program, 'create', '--bundle', join(folder, id), id);
  oci(program, 'start', id);
  const { pid } = JSON.parse(execFileSync(program, [...rootOf(program), 'state', id], { encoding: 'utf8' })) as {
    pid: number;
  };
  return { pid, remove: () => oci(program, 'delete', '--force', id) };
}

function run(program: string, spec: OciSpec): { stdout: string; stderr: string; status: number | null } {
  const { id, bundle } = bundleOf(spec);
  const { stdout, stderr, status } = spawnSync(program, [...rootOf(program), 'run', '--bundle', bundle, id], {
    encoding: 'utf8',
  });
  return { stdout, stderr, status };
}

function bundleOf(
  spec: OciSpec,
  id = spec.linux.cgroupsPath.slice(CGROUP_PARENT.length + 1),
): { id: string; bundle: string } {
  const bundle = join(folder, id);
  writeFileSync(join(bundle, 'config.json'), JSON.stringify(spec));
  return { id, bundle };
}

/** Its output must not be a pipe: the container keeps it open. */
function oci(program: string, ...args: readonly string[]): void {
  execFileSync(program, [...rootOf(program), ...args], { stdio: ['ignore', 'ignore', 'inherit'] });
}

function rootOf(program: string): string[] {
  return ['--root', join(folder, basename(program))];
}

function nextId(): string {
  last += 1;
  return `spec-${process.pid}-${last}`;
}
