import assert from 'node:assert/strict';
import test from 'node:test';
import type { Pod } from '../../../api/generated/core-v1.ts';
import { NamespaceMode, UserNamespace } from '../../../cri/generated/runtime-v1.ts';
import { exampleContainer, examplePod, type PodChanges } from './pod.fixture.ts';
import { protoJson } from './proto-json.fixture.ts';
import { containerSecurityContext, type ImageUser, sandboxSecurityContext } from './security-context.ts';

const root: ImageUser = { uid: undefined, username: '' };

function contextOf(
  pod: Pod,
  imageUser: ImageUser = root,
  seccompDefault = false,
  extraGroups: readonly number[] = [],
): Record<string, unknown> {
  const [container] = pod.spec.containers;
  assert.ok(container);
  const settings = { rootDir: '/var/lib/kubelet', seccompDefault };
  const throttle = ['/sys/devices/system/cpu/cpu0/thermal_throttle'];
  const context = containerSecurityContext({
    pod,
    container,
    imageUser,
    settings,
    extraGroups,
    extraMaskedPaths: throttle,
  });
  return protoJson(context) as Record<string, unknown>;
}

const healthy = contextOf(examplePod());

test('containerSecurityContext() of a plain pod hides the kernel’s files and runs as root, unconfined', () => {
  const { maskedPaths, readonlyPaths, ...rest } = healthy;
  assert.deepEqual(rest, {
    namespaceOptions: { pid: 'CONTAINER', usernsOptions: { mode: 'NODE' } },
    runAsUser: {},
    seccomp: { profileType: 'Unconfined' },
  });
  assert.deepEqual(
    [(maskedPaths as string[]).at(-1), (readonlyPaths as string[]).length],
    ['/sys/devices/system/cpu/cpu0/thermal_throttle', 5],
  );
});

const cases: Record<string, { given: PodChanges; user?: ImageUser; seccompDefault?: boolean; changed: object }> = {
  'uses the pod’s user and group': {
    given: { spec: { securityContext: { runAsUser: 1000, runAsGroup: 1001 } } },
    changed: { runAsUser: { value: '1000' }, runAsGroup: { value: '1001' } },
  },
  'prefers the container’s user': {
    given: { spec: { securityContext: { runAsUser: 1000 } }, container: { securityContext: { runAsUser: 7 } } },
    changed: { runAsUser: { value: '7' } },
  },
  'uses the image’s user': { given: {}, user: { uid: 5n, username: '' }, changed: { runAsUser: { value: '5' } } },
  'uses the image’s user by name': {
    given: {},
    user: { uid: undefined, username: 'web' },
    changed: { runAsUser: undefined, runAsUsername: 'web' },
  },
  'adds the volumes’ group before the others': {
    given: {
      spec: { securityContext: { fsGroup: 2000, supplementalGroups: [3000], supplementalGroupsPolicy: 'Strict' } },
    },
    changed: { supplementalGroups: ['2000', '3000'], supplementalGroupsPolicy: 'Strict' },
  },
  'forbids new privileges only when requested': {
    given: { container: { securityContext: { allowPrivilegeEscalation: false } } },
    changed: { noNewPrivs: true },
  },
  'masks nothing of an unmasked /proc': {
    given: { container: { securityContext: { procMount: 'Unmasked' } } },
    changed: { maskedPaths: undefined, readonlyPaths: undefined },
  },
  'uses the runtime’s seccomp profile by the node’s default': {
    given: {},
    seccompDefault: true,
    changed: { seccomp: {} },
  },
  'resolves local seccomp profiles below the root directory': {
    given: { container: { securityContext: { seccompProfile: { type: 'Localhost', localhostProfile: 'a/b.json' } } } },
    changed: { seccomp: { profileType: 'Localhost', localhostRef: '/var/lib/kubelet/seccomp/a/b.json' } },
  },
  'sets an AppArmor profile in both forms': {
    given: { spec: { securityContext: { appArmorProfile: { type: 'Localhost', localhostProfile: 'p' } } } },
    changed: { apparmor: { profileType: 'Localhost', localhostRef: 'p' }, apparmorProfile: 'localhost/p' },
  },
  'reads the deprecated AppArmor annotation': {
    given: { metadata: { annotations: { 'container.apparmor.security.beta.kubernetes.io/web': 'runtime/default' } } },
    changed: { apparmor: {}, apparmorProfile: 'runtime/default' },
  },
  'passes SELinux options and capabilities on': {
    given: {
      spec: { securityContext: { seLinuxOptions: { level: 's0' } } },
      container: { securityContext: { privileged: true, capabilities: { add: ['NET_ADMIN'] } } },
    },
    changed: { selinuxOptions: { level: 's0' }, privileged: true, capabilities: { addCapabilities: ['NET_ADMIN'] } },
  },
  'shares what the pod shares': {
    given: { spec: { hostNetwork: true, hostIPC: true, hostPID: true } },
    changed: { namespaceOptions: { network: 'NODE', ipc: 'NODE', pid: 'NODE', usernsOptions: { mode: 'NODE' } } },
  },
};

for (const [name, { given, user = root, seccompDefault = false, changed }] of Object.entries(cases)) {
  test(`containerSecurityContext() ${name}`, () => {
    const expected = Object.entries({ ...healthy, ...changed }).filter(([, value]) => value !== undefined);
    assert.deepEqual(contextOf(examplePod(given), user, seccompDefault), Object.fromEntries(expected));
  });
}

const nonRoot = { spec: { securityContext: { runAsNonRoot: true } } };
const subject = '(pod: "hello_default(u1)", container: web)';

const rejected: Record<string, { given: PodChanges; user?: ImageUser; message: string }> = {
  'root by the image': { given: nonRoot, message: `container has runAsNonRoot and image will run as root ${subject}` },
  'root by the pod': {
    given: { spec: { securityContext: { runAsNonRoot: true, runAsUser: 0 } } },
    message: `container's runAsUser breaks non-root policy ${subject}`,
  },
  'a user that may be root': {
    given: nonRoot,
    user: { uid: undefined, username: 'web' },
    message: `container has runAsNonRoot and image has non-numeric user (web), cannot verify user is non-root ${subject}`,
  },
  'an image uid that is out of range': {
    given: nonRoot,
    user: { uid: 4_294_967_296n, username: '' },
    message: `container has runAsNonRoot and image has non-numeric user (4294967296), cannot verify user is non-root ${subject}`,
  },
  'a negative image uid': {
    given: nonRoot,
    user: { uid: -1n, username: '' },
    message: `container has runAsNonRoot and image has non-numeric user (-1), cannot verify user is non-root ${subject}`,
  },
  'a local seccomp profile without a name': {
    given: { container: { securityContext: { seccompProfile: { type: 'Localhost' } } } },
    message: 'localhostProfile must be set if seccompProfile type is Localhost.',
  },
};

for (const [name, { given, user = root, message }] of Object.entries(rejected)) {
  test(`containerSecurityContext() rejects ${name}`, () => {
    assert.throws(() => contextOf(examplePod(given), user), { message });
  });
}

test('containerSecurityContext() trusts a numeric user of the image', () => {
  assert.deepEqual(contextOf(examplePod(nonRoot), { uid: 5n, username: '' })['runAsUser'], { value: '5' });
});

test('sandboxSecurityContext() is privileged when any container is, init containers too', () => {
  const initContainers = [{ name: 'init', image: 'busybox', securityContext: { privileged: true } }];
  assert.deepEqual(protoJson(sandboxSecurityContext(examplePod({ spec: { initContainers } }), undefined, [])), {
    namespaceOptions: { pid: 'CONTAINER', usernsOptions: { mode: 'NODE' } },
    privileged: true,
    seccomp: {},
  });
});

test('groups of volumes are last in a container, and before the pod’s own in its sandbox', () => {
  const pod = examplePod({ spec: { securityContext: { fsGroup: 2000, supplementalGroups: [3000] } } });
  assert.deepEqual(contextOf(pod, root, false, [4000])['supplementalGroups'], ['2000', '3000', '4000']);
  assert.deepEqual(sandboxSecurityContext(pod, undefined, [4000]).supplementalGroups, [2000n, 4000n, 3000n]);
});

test('a user namespace is set in the sandbox and in its containers', () => {
  const ids = [{ hostId: 65_536, containerId: 0, length: 65_536 }];
  const userNamespace = UserNamespace.fromPartial({ mode: NamespaceMode.POD, uids: ids, gids: ids });
  const expected = { uids: [{ hostId: 65_536, length: 65_536 }], gids: [{ hostId: 65_536, length: 65_536 }] };
  const sandbox = sandboxSecurityContext(examplePod(), userNamespace, []);
  const pod = examplePod();
  const container = containerSecurityContext({
    pod,
    container: exampleContainer,
    imageUser: { uid: undefined, username: '' },
    userNamespace,
    extraGroups: [],
    settings: { rootDir: '/var/lib/kubelet', seccompDefault: false },
    extraMaskedPaths: [],
  });
  for (const { namespaceOptions } of [sandbox, container]) {
    assert.ok(namespaceOptions);
    assert.deepEqual(protoJson(namespaceOptions), { pid: 'CONTAINER', usernsOptions: expected });
  }
});
