/** Each invalid field is rejected with its name. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  SecurityProfile_ProfileType as ProfileType,
  type SupplementalGroupsPolicy,
} from '../../cri/generated/runtime-v1.ts';
import { createMemoryHost } from '../../host/fake/memory-host.ts';
import { noAppArmor } from './load-apparmor-profile.ts';
import { createSpecBuilder } from './spec-builder.ts';
import type { SpecRequest } from './spec-request.ts';
import { type Config, containerConfig, MACHINE, sandboxConfig, validRequest } from './testing/valid-request.ts';

const secure = (securityContext: NonNullable<NonNullable<Config['linux']>['securityContext']>): Config => ({
  linux: { securityContext },
});
const mount = (change: NonNullable<Config['mounts']>[number]): Config => ({
  mounts: [{ containerPath: '/data', hostPath: '/srv', ...change }],
});
const image = validRequest().image;
const unknown = 9 as never; // a value of a newer client

const cases: Record<string, { config?: Config; request?: Partial<SpecRequest>; message: string }> = {
  'no command at all': {
    config: { command: [] },
    message: 'command: no command specified, and image docker.io/library/web:1 has none',
  },
  'a relative working directory': { config: { workingDir: 'x' }, message: 'working_dir: "x" is not absolute' },
  'a working directory below /proc': {
    config: { workingDir: '/proc/self/fd/7' },
    message: 'working_dir: working directory "/proc/self/fd/7" is below /proc',
  },
  'a working directory that goes through /proc': {
    config: { workingDir: '/x/../proc/self/cwd/../..' },
    message: 'working_dir: working directory "/x/../proc/self/cwd/../.." is below /proc',
  },
  'an image whose working directory is below /proc': {
    request: { image: { ...image, workingDir: '//proc/./self/cwd' } },
    message: 'image: working directory "//proc/./self/cwd" is below /proc',
  },
  'an image with a volume at its root': {
    request: { image: { ...image, volumes: ['/'] } },
    message: 'image: image declares a volume at "/", which is not allowed',
  },
  'a Windows container': { config: { windows: {} }, message: 'windows: this is a Linux node' },
  'a privileged container in an unprivileged sandbox': {
    config: secure({ privileged: true }),
    message: 'linux.security_context.privileged: no privileged container allowed in sandbox',
  },
  'a group without a user': {
    config: secure({ runAsGroup: { value: 5n } }),
    message: 'linux.security_context.run_as_group: user group "5" is specified without user',
  },
  'a user that the image does not have': {
    config: secure({ runAsUsername: 'bob' }),
    message: 'linux.security_context.run_as_username: the image has no user "bob"',
  },
  'a uid beyond the limit': {
    config: secure({ runAsUser: { value: 2n ** 31n } }),
    message: 'linux.security_context.run_as_user: 2147483648: must be between 0 and 2147483647, inclusive',
  },
  'a group that the image does not have': {
    request: { image: { ...image, user: '0:wheel' } },
    message: 'image: USER: the image has no group "wheel"',
  },
  'an image with an invalid user': {
    request: { image: { ...image, user: 'a:b:c' } },
    message: 'image: invalid USER value "a:b:c"',
  },
  'a negative group': {
    config: secure({ supplementalGroups: [1n, -1n] }),
    message: 'linux.security_context.supplemental_groups[1]: -1: must be between 0 and 2147483647, inclusive',
  },
  'an unknown policy for groups': {
    config: secure({ supplementalGroupsPolicy: unknown as SupplementalGroupsPolicy }),
    message: 'linux.security_context.supplemental_groups_policy: unknown policy 9',
  },
  'an unknown capability': {
    config: secure({ capabilities: { dropCapabilities: ['KILL', 'FLY'] } }),
    message: 'linux.security_context.capabilities.drop_capabilities[1]: unknown capability "FLY"',
  },
  'a capability that this node does not have': {
    config: secure({ capabilities: { addCapabilities: ['sys_boot'] } }),
    request: { machine: { ...MACHINE, capabilities: ['CAP_KILL'] } },
    message: 'linux.security_context.capabilities.add_capabilities: not available on this node: CAP_SYS_BOOT',
  },
  'an unknown namespace mode': {
    config: secure({ namespaceOptions: { pid: unknown } }),
    message: 'linux.security_context.namespace_options.pid: unsupported namespace mode 9',
  },
  'a network of its own': {
    config: secure({ namespaceOptions: { network: 1 } }),
    message: 'linux.security_context.namespace_options.network: unsupported namespace mode CONTAINER',
  },
  "the node's processes when the sandbox does not have them": {
    config: secure({ namespaceOptions: { pid: 2 } }),
    message: 'linux.security_context.namespace_options.pid: the sandbox does not have the namespace of the node',
  },
  'a target without a container': {
    config: secure({ namespaceOptions: { pid: 3 } }),
    message: 'linux.security_context.namespace_options.target_id: mode TARGET requires a container',
  },
  'a target that does not run': {
    config: secure({ namespaceOptions: { pid: 3, targetId: 'c9' } }),
    message: 'linux.security_context.namespace_options.target_id: no such container runs in this sandbox',
  },
  'a user namespace that the sandbox does not have': {
    config: secure({
      namespaceOptions: {
        usernsOptions: { mode: 0, uids: [{ hostId: 1, length: 1 }], gids: [{ hostId: 1, length: 1 }] },
      },
    }),
    message: 'linux.security_context.namespace_options.userns_options: the sandbox has a different user namespace',
  },
  'an out-of-memory score out of range': {
    config: { linux: { resources: { oomScoreAdj: 1001n } } },
    message: 'linux.resources.oom_score_adj: 1001 is not in -1000..1000',
  },
  'files of cgroups v2 on v1': {
    config: { linux: { resources: { unified: { 'memory.high': '1' } } } },
    message: 'linux.resources.unified: not supported with cgroup v1',
  },
  'a mount without a container path': {
    config: mount({ containerPath: '' }),
    message: 'mounts[0].container_path: is empty',
  },
  'a mount at a relative container path': {
    config: mount({ containerPath: 'data' }),
    message: 'mounts[0].container_path: "data" is not absolute',
  },
  'a mount without a source': {
    config: mount({ hostPath: '' }),
    message: 'mounts[0].host_path: is empty, and the mount has no image',
  },
  'a mount with two sources': {
    config: mount({ image: { image: 'x' } }),
    message: 'mounts[0].host_path: a mount has either an image or a host path',
  },
  'a mount of a relative path': {
    config: mount({ hostPath: 'srv' }),
    message: 'mounts[0].host_path: "srv" is not absolute',
  },
  'a mount below a file': {
    config: mount({ hostPath: '/file/below' }),
    message: 'mounts[0].host_path: realPath /file/below: ENOTDIR',
  },
  'a sub-path that leads out of the image': {
    config: mount({ hostPath: '', image: { image: 'x' }, imageSubPath: '../x' }),
    request: { imageVolumes: new Map([[0, '/srv']]) },
    message: 'ImageVolumeMountFailed: mounts[0].image_sub_path: "../x" must be relative and without ".."',
  },
  'a sub-path that the image does not have': {
    config: mount({ hostPath: '', image: { image: 'x' }, imageSubPath: 'none' }),
    request: { imageVolumes: new Map([[0, '/srv']]) },
    message: 'ImageVolumeMountFailed: mounts[0].image_sub_path: the image has no "none"',
  },
  'a sub-path below a file of the image': {
    config: mount({ hostPath: '', image: { image: 'x' }, imageSubPath: 'file/below' }),
    request: { imageVolumes: new Map([[0, '/']]) },
    message: 'ImageVolumeMountFailed: mounts[0].image_sub_path: the image has no "file/below"',
  },
  'an unknown propagation': {
    config: mount({ propagation: unknown }),
    message: 'mounts[0].propagation: unknown propagation 9',
  },
  'propagation from a private mount': {
    config: mount({ propagation: 1 }),
    message: 'mounts[0].propagation: path "/srv" is not on a shared or slave mount',
  },
  'propagation in both directions from a slave': {
    config: mount({ hostPath: '/slave', propagation: 2 }),
    message: 'mounts[0].propagation: path "/slave" is not on a shared mount',
  },
  'a recursive read-only mount that is writable': {
    config: mount({ recursiveReadOnly: true }),
    message: 'mounts[0].recursive_read_only: recursive read-only mount conflicts with RW mount (hostPath="/srv")',
  },
  'a recursive read-only mount that is not private': {
    config: mount({ readonly: true, recursiveReadOnly: true, propagation: 1 }),
    message:
      'mounts[0].propagation: recursive read-only mount needs private propagation, got "PROPAGATION_HOST_TO_CONTAINER" (hostPath="/srv")',
  },
  'a recursive read-only mount that the runtime does not support': {
    config: mount({ readonly: true, recursiveReadOnly: true }),
    request: { features: { recursiveReadOnlyMounts: false, userNamespaces: true, idmappedMounts: true } },
    message:
      'mounts[0].recursive_read_only: runtime handler does not support recursive read-only mounts (hostPath="/srv")',
  },
  'an idmapped mount that the runtime does not support': {
    config: mount({ gidMappings: [{ hostId: 1, length: 1 }] }),
    request: { features: { recursiveReadOnlyMounts: true, userNamespaces: true, idmappedMounts: false } },
    message: 'mounts[0].gidMappings: runtime handler does not support idmapped mounts',
  },
  'a mount to be relabelled on a node with SELinux': {
    config: mount({ selinuxRelabel: true }),
    request: { machine: { ...MACHINE, selinux: true } },
    message: 'mounts[0].selinux_relabel: this runtime does not relabel files',
  },
  'a missing device': {
    config: { devices: [{ hostPath: '/dev/none', containerPath: '/dev/x', permissions: 'r' }] },
    message: 'devices[0].host_path: no device at /dev/none',
  },
  'a device that is a file': {
    config: { devices: [{ hostPath: '/file', containerPath: '/dev/x', permissions: 'r' }] },
    message: 'devices[0].host_path: no device at /file',
  },
  'unknown permissions for a device': {
    config: { devices: [{ hostPath: '/dev/x', containerPath: '/dev/x', permissions: 'rx' }] },
    message: 'devices[0].permissions: "rx" must consist of r, w and m',
  },
  'an unknown CDI device': {
    config: { CDIDevices: [{ name: 'acme.com/gpu=7' }] },
    message: 'CDI_devices: unresolvable CDI device acme.com/gpu=7',
  },
  'a CDI device without a name': {
    config: { annotations: { 'cdi.k8s.io/x': 'acme.com/gpu' } },
    message: 'CDI_devices: "acme.com/gpu" is not of the form vendor/class=device',
  },
  'an unknown profile type': {
    config: secure({ seccomp: { profileType: unknown as ProfileType } }),
    message: 'linux.security_context.seccomp.profile_type: unknown profile type 9',
  },
  'a profile file for another profile type': {
    config: secure({ seccomp: { profileType: ProfileType.Unconfined, localhostRef: '/p' } }),
    message: 'linux.security_context.seccomp.localhost_ref: must only be set if profile_type is Localhost',
  },
  'a missing profile file': {
    config: secure({ seccomp: { profileType: ProfileType.Localhost, localhostRef: '/none.json' } }),
    message:
      'linux.security_context.seccomp.localhost_ref: cannot load seccomp profile "/none.json": readText /none.json: ENOENT',
  },
  'an unknown older profile': {
    config: secure({ seccompProfilePath: 'strict' }),
    message: 'linux.security_context.seccomp_profile_path: unknown profile "strict"',
  },
  'seccomp without seccomp': {
    config: secure({ seccomp: { profileType: ProfileType.RuntimeDefault } }),
    request: { machine: { ...MACHINE, seccomp: false } },
    message: 'linux.security_context.seccomp: seccomp is not supported',
  },
  'AppArmor without AppArmor': {
    config: secure({ apparmor: { profileType: ProfileType.RuntimeDefault } }),
    message: 'linux.security_context.apparmor: apparmor is not supported',
  },
  'an invalid SELinux level': {
    config: secure({ selinuxOptions: { level: 'high' } }),
    message: 'linux.security_context.selinux_options.level: invalid format: "high"',
  },
};

const MOUNTINFO = `20 1 0:1 / / rw - ext4 d rw
21 20 0:2 / /slave rw master:5 - ext4 d rw
`;

for (const [name, { config, request, message }] of Object.entries(cases)) {
  test(`a container is rejected: ${name}`, async () => {
    const { fs } = createMemoryHost();
    for (const folder of ['/srv', '/slave', '/proc/self', '/run/n/containers/c1/rootfs'])
      await fs.makeDirectory(folder);
    await fs.writeFile('/file', '');
    await fs.writeFile('/proc/self/mountinfo', MOUNTINFO);
    const build = createSpecBuilder({ fs, appArmor: noAppArmor, cdiSpecDirs: ['/etc/cdi'] });
    const built = validRequest({ container: containerConfig(config), sandbox: sandboxConfig(), ...request });
    await assert.rejects(build(built, new AbortController().signal), {
      name: 'CriError',
      code: 'InvalidArgument',
      message,
    });
  });
}
