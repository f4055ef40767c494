import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { after, before, describe, test } from 'node:test';
import type { CriCode } from '../../src/cri/cri-error.ts';
import {
  NamespaceMode,
  type NamespaceOption,
  SecurityProfile_ProfileType as ProfileType,
  type Signal,
} from '../../src/cri/generated/runtime-v1.ts';
import { embeddedSkipReason } from './runtime-fixture.ts';
import {
  type ContainerChange,
  type PodChange,
  plainContainer,
  type Scene,
  type ScenePod,
  settledRuntimeResources,
  signal,
  startScene,
  WAITS,
} from './runtime-pod.ts';
import { listRuntimeResources } from './runtime-resources.ts';
import { becomes } from './until.ts';

/** A request, and the expected error. */
interface Rejection<Change> {
  readonly asked: Change;
  readonly code: CriCode;
  readonly message: RegExp;
}

const NODE = NamespaceMode.NODE;
const CONTAINER = NamespaceMode.CONTAINER;
const TARGET = NamespaceMode.TARGET;
/** Fields that a client of a later CRI version may send. */
const UNKNOWN_NUMBER = 99 as never;
const OPTIONS = String.raw`config\.linux\.security_context\.namespace_options`;
const MAPPING = { containerId: 0, hostId: 100_000, length: 65_536 };

function namespaces(options: Partial<NamespaceOption>): Pick<PodChange, 'linux'> {
  return { linux: { securityContext: { namespaceOptions: options } } };
}

function usersOf(...uids: (typeof MAPPING)[]): Pick<PodChange, 'linux'> {
  return namespaces({ usernsOptions: { mode: NamespaceMode.POD, uids, gids: [MAPPING] } });
}

function bad<Change>(asked: Change, message: RegExp): Rejection<Change> {
  return { asked, code: 'InvalidArgument', message };
}

const SANDBOXES: Record<string, Rejection<PodChange & { readonly runtimeHandler?: string }>> = {
  'an unknown runtime handler': bad({ runtimeHandler: 'kata' }, /runtime_handler|no runtime for "kata" is configured/),
  'no metadata': bad({ metadata: undefined }, /^config\.metadata: sandbox config must include metadata$/),
  'a network of each container': bad(
    namespaces({ network: CONTAINER }),
    new RegExp(`^${OPTIONS}\\.network: .*CONTAINER`),
  ),
  'a network mode of the future': bad(
    namespaces({ network: UNKNOWN_NUMBER }),
    new RegExp(`^${OPTIONS}\\.network: .*99`),
  ),
  'an IPC namespace of each container': bad(
    namespaces({ ipc: CONTAINER }),
    new RegExp(`^${OPTIONS}\\.ipc: .*CONTAINER`),
  ),
  'the IPC namespace of another': bad(namespaces({ ipc: TARGET }), new RegExp(`^${OPTIONS}\\.ipc: .*TARGET`)),
  'the PID namespace of another': bad(namespaces({ pid: TARGET }), new RegExp(`^${OPTIONS}\\.pid: .*TARGET`)),
  'a PID mode of the future': bad(namespaces({ pid: UNKNOWN_NUMBER }), new RegExp(`^${OPTIONS}\\.pid: .*99`)),
  'users of each container': bad(
    namespaces({ usernsOptions: { mode: CONTAINER, uids: [], gids: [] } }),
    new RegExp(`^${OPTIONS}\\.userns_options\\.mode: .*CONTAINER`),
  ),
  'mappings for the users of the node': bad(
    namespaces({ usernsOptions: { mode: NODE, uids: [MAPPING], gids: [] } }),
    new RegExp(`^${OPTIONS}\\.userns_options\\.uids: `),
  ),
  'its own users without a mapping': bad(usersOf(), new RegExp(`^${OPTIONS}\\.userns_options\\.uids: `)),
  'its own users without root': bad(
    usersOf({ ...MAPPING, containerId: 1 }),
    new RegExp(`^${OPTIONS}\\.userns_options\\.uids: no mapping for ID 0`),
  ),
  'a mapping of no id': bad(
    usersOf({ ...MAPPING, length: 0 }),
    new RegExp(`^${OPTIONS}\\.userns_options\\.uids\\[0\\]\\.length: `),
  ),
  'mappings that overlap': bad(
    usersOf(MAPPING, { ...MAPPING, containerId: 70_000, hostId: 120_000 }),
    new RegExp(`^${OPTIONS}\\.userns_options\\.uids\\[1\\]: overlaps`),
  ),
  ...Object.fromEntries(
    (['network', 'pid', 'ipc'] as const).map((kind) => [
      `its own users with the ${kind} of the node`,
      bad(
        namespaces({ [kind]: NODE, usernsOptions: { mode: NamespaceMode.POD, uids: [MAPPING], gids: [MAPPING] } }),
        new RegExp(`^${OPTIONS}\\.${kind}: .*user namespace`),
      ),
    ]),
  ),
  'a host name that is too long': bad({ hostname: 'h'.repeat(65) }, /^config\.hostname: longer than 64 bytes/),
  'a sysctl of the machine': bad(
    { linux: { sysctls: { 'vm.swappiness': '1' } } },
    /^config\.linux\.sysctls\["vm\.swappiness"\]: belongs to no namespace/,
  ),
  'a sysctl of the network with the network of the node': bad(
    {
      linux: {
        sysctls: { 'net.ipv4.ip_forward': '1' },
        securityContext: { namespaceOptions: { network: NODE } },
      },
    },
    /^config\.linux\.sysctls\["net\.ipv4\.ip_forward"\]: not allowed with the network of the node/,
  ),
  'a sysctl with a way out': bad(
    { linux: { sysctls: { 'net/../kernel/hostname': 'x' } } },
    /^config\.linux\.sysctls\["net\/\.\.\/kernel\/hostname"\]: /,
  ),
  'a sysctl that there is not': bad(
    { linux: { sysctls: { 'net.ipv4.nonesuch': '1' } } },
    /^config\.linux\.sysctls\["net\.ipv4\.nonesuch"\]: /,
  ),
  'a value that the kernel does not take': bad(
    { linux: { sysctls: { 'net.ipv4.ip_unprivileged_port_start': 'many' } } },
    /^config\.linux\.sysctls\["net\.ipv4\.ip_unprivileged_port_start"\]: /,
  ),
};

function context(securityContext: NonNullable<ContainerChange['linux']>['securityContext']): ContainerChange {
  return { linux: { securityContext } };
}

function mount(change: NonNullable<ContainerChange['mounts']>[number]): ContainerChange {
  return { mounts: [{ hostPath: '/tmp', containerPath: '/mnt', ...change }] };
}

const CONTAINERS: Record<string, Rejection<ContainerChange>> = {
  'no metadata': bad({ metadata: undefined }, /metadata/),
  'no image': bad({ image: undefined }, /^config\.image\.image: must be set/),
  'an unknown image': {
    asked: { image: { image: 'localhost/missing/image:1' } },
    code: 'NotFound',
    message: /^config\.image\.image: image "localhost\/missing\/image:1" not found/,
  },
  'a folder to work in that is not absolute': bad({ workingDir: 'tmp' }, /^config\.working_dir: "tmp" is not absolute/),
  'a stop signal of the future': bad(
    { stopSignal: UNKNOWN_NUMBER as Signal },
    /^config\.stop_signal: unknown signal 99/,
  ),
  'a Windows container': bad({ windows: {} }, /^config\.windows: this is a Linux node/),

  'a mount without a place': bad(mount({ containerPath: '' }), /^config\.mounts\[0\]\.container_path: is empty/),
  'a mount at a relative path': bad(
    mount({ containerPath: 'mnt' }),
    /^config\.mounts\[0\]\.container_path: "mnt" is not absolute/,
  ),
  'a mount without a source': bad(mount({ hostPath: '' }), /^config\.mounts\[0\]\.host_path: is empty/),
  'a mount of a relative path': bad(
    mount({ hostPath: 'tmp' }),
    /^config\.mounts\[0\]\.host_path: "tmp" is not absolute/,
  ),
  'a mount of what cannot be': bad(
    mount({ hostPath: '/etc/passwd/x' }),
    /^config\.mounts\[0\]\.host_path: .*\/etc\/passwd\/x/,
  ),
  'a mount with a propagation of the future': bad(
    mount({ propagation: UNKNOWN_NUMBER }),
    /^config\.mounts\[0\]\.propagation: unknown propagation 99/,
  ),
  'a shared mount of what is not shared': bad(
    mount({ propagation: 2 }),
    /^config\.mounts\[0\]\.propagation: path "\/tmp" is not on a shared mount/,
  ),
  'a mount that follows what is not shared': bad(
    mount({ propagation: 1 }),
    /^config\.mounts\[0\]\.propagation: path "\/tmp" is not on a shared or slave mount/,
  ),
  'a recursive read-only mount that may be written': bad(
    mount({ recursiveReadOnly: true }),
    /^config\.mounts\[0\]\.recursive_read_only: recursive read-only mount conflicts with RW mount/,
  ),
  'a recursive read-only mount that is not private': bad(
    mount({ readonly: true, recursiveReadOnly: true, propagation: 1 }),
    /^config\.mounts\[0\]\.propagation: recursive read-only mount needs private propagation/,
  ),
  'an image volume that may be written': bad(
    { mounts: [{ image: { image: 'x' }, containerPath: '/mnt' }] },
    /^ImageVolumeMountFailed: config\.mounts\[0\]\.readonly: /,
  ),
  'an image volume of an unknown image': {
    asked: { mounts: [{ image: { image: 'localhost/missing/image:1' }, containerPath: '/mnt', readonly: true }] },
    code: 'NotFound',
    message: /^ImageVolumeMountFailed: config\.mounts\[0\]\.image\.image: .* not found/,
  },
  'an image volume with a path of the machine': bad(
    { mounts: [{ image: { image: 'x' }, hostPath: '/tmp', containerPath: '/mnt', readonly: true }] },
    /config\.mounts\[0\]\.host_path: /,
  ),

  'a device that there is not': bad(
    { devices: [{ hostPath: '/dev/nonesuch', containerPath: '/dev/x', permissions: 'rwm' }] },
    /^config\.devices\[0\]\.host_path: no device at \/dev\/nonesuch/,
  ),
  'a device that is a file': bad(
    { devices: [{ hostPath: '/etc/passwd', containerPath: '/dev/x', permissions: 'r' }] },
    /^config\.devices\[0\]\.host_path: no device at \/etc\/passwd/,
  ),
  'permissions that devices do not have': bad(
    { devices: [{ hostPath: '/dev/null', containerPath: '/dev/x', permissions: 'rx' }] },
    /^config\.devices\[0\]\.permissions: "rx"/,
  ),
  'an unknown CDI device': bad(
    { CDIDevices: [{ name: 'vendor.com/class=nonesuch' }] },
    /^config\.CDI_devices: unresolvable CDI device vendor\.com\/class=nonesuch/,
  ),
  'a CDI device without a name': bad(
    { CDIDevices: [{ name: 'gpu' }] },
    /^config\.CDI_devices: "gpu" is not of the form/,
  ),

  'an unknown capability': bad(
    context({ capabilities: { addCapabilities: ['NET_RAW', 'FLY'] } }),
    /^config\.linux\.security_context\.capabilities\.add_capabilities\[1\]: unknown capability "FLY"/,
  ),
  'to drop an unknown capability': bad(
    context({ capabilities: { dropCapabilities: ['FLY'] } }),
    /^config\.linux\.security_context\.capabilities\.drop_capabilities\[0\]: unknown capability "FLY"/,
  ),
  'privileges that the sandbox has not': bad(
    context({ privileged: true }),
    /^config\.linux\.security_context\.privileged: /,
  ),
  'a group without a user': bad(
    context({ runAsGroup: { value: 7n } }),
    /^config\.linux\.security_context\.run_as_group: /,
  ),
  'an unknown user': bad(
    context({ runAsUsername: 'stranger' }),
    /^config\.linux\.security_context\.run_as_username: the image has no user "stranger"/,
  ),
  'a group that is no number of a group': bad(
    context({ supplementalGroups: [-1n] }),
    /^config\.linux\.security_context\.supplemental_groups\[0\]: -1: must be between 0 and 2147483647, inclusive/,
  ),
  'a groups policy of the future': bad(
    context({ supplementalGroupsPolicy: UNKNOWN_NUMBER }),
    /^config\.linux\.security_context\.supplemental_groups_policy: unknown policy 99/,
  ),
  'a seccomp profile that there is not': bad(
    context({ seccomp: { profileType: ProfileType.Localhost, localhostRef: '/nonesuch.json' } }),
    /^config\.linux\.security_context\.seccomp\.localhost_ref: cannot load seccomp profile "\/nonesuch\.json": .*ENOENT|no such file/,
  ),
  'an invalid seccomp profile': bad(
    context({ seccomp: { profileType: ProfileType.Localhost, localhostRef: '/etc/passwd' } }),
    /^config\.linux\.security_context\.seccomp\.localhost_ref: cannot load seccomp profile "\/etc\/passwd": /,
  ),
  'a seccomp profile by the older field': bad(
    context({ seccompProfilePath: 'localhost//nonesuch.json' }),
    /^config\.linux\.security_context\.seccomp/,
  ),
  'a seccomp profile with a name that it may not have': bad(
    context({ seccomp: { profileType: ProfileType.RuntimeDefault, localhostRef: '/x' } }),
    /^config\.linux\.security_context\.seccomp\.localhost_ref: must only be set/,
  ),
  'an invalid SELinux level': bad(
    context({ selinuxOptions: { level: 'high' } }),
    /^config\.linux\.security_context\.selinux_options\.level: /,
  ),

  'the network of the node': bad(
    context({ namespaceOptions: { network: NODE } }),
    new RegExp(`^${OPTIONS}\\.network: `),
  ),
  'the processes of the node': bad(context({ namespaceOptions: { pid: NODE } }), new RegExp(`^${OPTIONS}\\.pid: `)),
  'the IPC namespace of the node': bad(context({ namespaceOptions: { ipc: NODE } }), new RegExp(`^${OPTIONS}\\.ipc: `)),
  'a network of its own': bad(
    context({ namespaceOptions: { network: CONTAINER } }),
    new RegExp(`^${OPTIONS}\\.network: `),
  ),
  'a PID mode of the future': bad(
    context({ namespaceOptions: { pid: UNKNOWN_NUMBER } }),
    new RegExp(`^${OPTIONS}\\.pid: `),
  ),
  'users that the sandbox has not': bad(
    context({ namespaceOptions: { usernsOptions: { mode: NamespaceMode.POD, uids: [MAPPING], gids: [MAPPING] } } }),
    new RegExp(`^${OPTIONS}\\.userns_options: the sandbox has a different user namespace`),
  ),
  'the processes of a missing container': bad(
    context({ namespaceOptions: { pid: TARGET } }),
    new RegExp(`${OPTIONS}\\.target_id: `),
  ),
  'the processes of an unknown container': {
    asked: context({ namespaceOptions: { pid: TARGET, targetId: 'missing' } }),
    code: 'NotFound',
    message: new RegExp(`${OPTIONS}\\.target_id: container "missing" not found`),
  },

  'an OOM score that there is not': bad(
    { linux: { resources: { oomScoreAdj: 1001n } } },
    /^config\.linux\.resources\.oom_score_adj: 1001 is not in -1000\.\.1000/,
  ),
};

describe('requests that nodelet cri rejects', { skip: embeddedSkipReason() }, () => {
  let scene: Scene;
  let pod: ScenePod;
  let running: string;
  let traces: readonly string[];
  const expected = ({ code, message }: Pick<Rejection<unknown>, 'code' | 'message'>) => ({
    name: 'CriError',
    code,
    message,
  });

  before(async () => {
    scene = await startScene();
    pod = await scene.runPod();
    running = await pod.startReady(WAITS);
    traces = await settledRuntimeResources(scene.runtime);
  });
  after(async () => {
    await scene.stop();
  });

  const remove = (containerId: string): Promise<unknown> => scene.cri.runtime.removeContainer({ containerId }, signal);
  const create = (change: ContainerChange, podSandboxId = pod.id): Promise<unknown> => {
    const config = plainContainer('exit 0', pod.config, change);
    return scene.cri.runtime.createContainer({ podSandboxId, config, sandboxConfig: pod.config }, signal);
  };

  describe('of a sandbox', () => {
    for (const [name, row] of Object.entries(SANDBOXES)) {
      test(name, async () => {
        const { runtimeHandler = '', ...change } = row.asked;
        const request = { config: scene.podConfig(change), runtimeHandler };
        await assert.rejects(scene.cri.runtime.runPodSandbox(request, signal), expected(row));
      });
    }

    test('no configuration', async () => {
      const request = { config: undefined, runtimeHandler: '' };
      await assert.rejects(scene.cri.runtime.runPodSandbox(request, signal), {
        code: 'InvalidArgument',
        message: /config/,
      });
    });

    test('a name that is taken', async () => {
      const request = { config: pod.config, runtimeHandler: '' };
      const { name } = pod.config.metadata ?? {};
      await assert.rejects(scene.cri.runtime.runPodSandbox(request, signal), {
        message: new RegExp(
          `^failed to reserve sandbox name "${name}_default_.*_0": name .* is reserved for "${pod.id}"`,
        ),
        code: 'AlreadyExists',
      });
    });
  });

  describe('of a container', () => {
    for (const [name, row] of Object.entries(CONTAINERS)) {
      test(name, async () => assert.rejects(create(row.asked), expected(row)));
    }

    test('no configuration', async () => {
      const request = { podSandboxId: pod.id, config: undefined, sandboxConfig: pod.config };
      await assert.rejects(scene.cri.runtime.createContainer(request, signal), {
        code: 'InvalidArgument',
        message: /^config: must be set/,
      });
    });

    test('a name that is taken', async () => {
      const { metadata } = await scene.status(running);
      await assert.rejects(create({ metadata }), {
        code: 'AlreadyExists',
        message: new RegExp(`name "${metadata?.name}_.*_0" is reserved for "?${running}`),
      });
    });

    test('an unknown sandbox', async () => {
      await assert.rejects(create({}, 'missing'), {
        code: 'NotFound',
        message: /^sandbox "missing" not found/,
      });
    });

    test('AppArmor on a machine without it', { skip: existsSync('/sys/kernel/security/apparmor') }, async () => {
      const apparmor = { profileType: ProfileType.RuntimeDefault };
      await assert.rejects(create(context({ apparmor })), {
        code: 'InvalidArgument',
        message: /^config\.linux\.security_context\.apparmor: apparmor is not supported/,
      });
    });

    test('unified resources on a machine without them', { skip: !existsSync('/sys/fs/cgroup/pids') }, async () => {
      await assert.rejects(create({ linux: { resources: { unified: { 'pids.max': '7' } } } }), {
        code: 'InvalidArgument',
        message: /^config\.linux\.resources\.unified: not supported with cgroup v1/,
      });
    });

    test('a missing program, at its start', async (t) => {
      const containerId = await pod.create('', { command: ['/nonesuch'] });
      t.after(() => remove(containerId));
      await assert.rejects(scene.cri.runtime.startContainer({ containerId }, signal), {
        code: 'Unknown',
        message: /nonesuch.*[Nn]o such file or directory/,
      });
      const { exitCode, reason } = await scene.status(containerId);
      assert.deepEqual([exitCode, reason], [128, 'StartError']);
    });
  });

  describe('of verbs', () => {
    test('every call with an unknown container', async () => {
      const { runtime } = scene.cri;
      const containerId = 'missing';
      const calls: Record<string, () => Promise<unknown>> = {
        start: () => runtime.startContainer({ containerId }, signal),
        status: () => runtime.containerStatus({ containerId, verbose: false }, signal),
        exec: () => runtime.execSync({ containerId, cmd: ['true'], timeout: 1n }, signal),
        reopen: () => runtime.reopenContainerLog({ containerId }, signal),
        stats: () => runtime.containerStats({ containerId }, signal),
        checkpoint: () => runtime.checkpointContainer({ containerId, location: '/x', timeout: 1n }, signal),
      };
      for (const [name, call] of Object.entries(calls)) {
        await assert.rejects(call(), { code: 'NotFound', message: /missing/ }, name);
      }
    });

    test('an unknown sandbox', async () => {
      const { runtime } = scene.cri;
      const podSandboxId = 'missing';
      const unknown = { code: 'NotFound', message: /sandbox "missing"/ } as const;
      await assert.rejects(runtime.podSandboxStatus({ podSandboxId, verbose: false }, signal), unknown);
      await assert.rejects(runtime.podSandboxStats({ podSandboxId }, signal), unknown);
    });

    test('to start a running or exited container', async (t) => {
      const start = (containerId: string) => scene.cri.runtime.startContainer({ containerId }, signal);
      await assert.rejects(start(running), { code: 'FailedPrecondition', message: /CONTAINER_RUNNING state/ });
      const ended = await pod.start('exit 0');
      t.after(() => remove(ended));
      await scene.exited(ended);
      await assert.rejects(start(ended), { code: 'FailedPrecondition', message: /CONTAINER_EXITED state/ });
    });

    test('exec or log reopening of a container that does not run, or exec of an empty command', async (t) => {
      const { runtime } = scene.cri;
      const created = await pod.create('exit 0');
      t.after(() => remove(created));
      const exec = (containerId: string, cmd: string[]) =>
        runtime.execSync({ containerId, cmd, timeout: 120n }, signal);
      await assert.rejects(exec(created, ['true']), { code: 'FailedPrecondition', message: /CONTAINER_CREATED state/ });
      await assert.rejects(runtime.reopenContainerLog({ containerId: created }, signal), {
        code: 'FailedPrecondition',
        message: 'container is not running',
      });
      await assert.rejects(exec(running, []), { code: 'InvalidArgument', message: /^cmd: must not be empty/ });
      await assert.rejects(exec(running, ['nonesuch']), {
        code: 'Unknown',
        message: /^failed to exec in container: .*executable file .*not found in \$PATH/,
      });
    });

    test('a container in a sandbox that was stopped', async (t) => {
      const stopped = await scene.runPod();
      t.after(stopped.remove);
      const created = await stopped.create('exit 0');
      await scene.cri.runtime.stopPodSandbox({ podSandboxId: stopped.id }, signal);
      await assert.rejects(stopped.create('exit 0'), {
        code: 'FailedPrecondition',
        message: /^sandbox \w+ is not ready/,
      });
      await assert.rejects(scene.cri.runtime.startContainer({ containerId: created }, signal), {
        code: 'FailedPrecondition',
        message: /sandbox \w+ is not ready/,
      });
    });

    test('resources that the kernel rejects', async () => {
      const update = (linux: object) =>
        scene.cri.runtime.updateContainerResources(
          { containerId: running, linux: { ...NO_RESOURCES, ...linux }, windows: undefined, annotations: {} },
          signal,
        );
      await assert.rejects(update({ cpusetCpus: '9999' }), {
        code: 'Unknown',
        message: /^failed to update resources: /,
      });
      assert.equal((await scene.status(running)).resources?.linux?.cpusetCpus, '');
    });
  });

  test('no resources are left', async () => {
    await becomes(() => listRuntimeResources(scene.runtime), traces);
    assert.equal(await scene.ask(running, 'echo fine'), 'fine');
    await pod.remove();
  });
});

const NO_RESOURCES = {
  cpuPeriod: 0n,
  cpuQuota: 0n,
  cpuShares: 0n,
  memoryLimitInBytes: 0n,
  oomScoreAdj: 0n,
  cpusetCpus: '',
  cpusetMems: '',
  hugepageLimits: [],
  unified: {},
  memorySwapLimitInBytes: 0n,
};
