/**
 * Lists the file that handles each field of CRI's container messages. A field that is not listed fails here, not in a
 * cluster.
 */
import assert from 'node:assert/strict';
import { dirname, join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { linuxFileSystem } from '../../host/linux/fs/linux-file-system.ts';

const HERE = dirname(fileURLToPath(import.meta.url));
const ROOT = join(HERE, '../../..');

/** Not part of the specification: handled by the record, the monitor or the image store. */
const ELSEWHERE = 'elsewhere';
const HOMES: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  ContainerConfig: {
    metadata: 'annotations.ts',
    image: ELSEWHERE,
    command: 'container-spec.ts',
    args: 'container-spec.ts',
    working_dir: 'container-spec.ts',
    envs: 'environment.ts',
    mounts: 'mounts.ts',
    devices: 'devices.ts',
    labels: ELSEWHERE,
    annotations: '../cdi/cdi-devices.ts',
    log_path: ELSEWHERE,
    stdin: ELSEWHERE,
    stdin_once: ELSEWHERE,
    tty: 'container-spec.ts',
    linux: 'container-spec.ts',
    windows: 'request-rules.ts',
    CDI_devices: '../cdi/cdi-devices.ts',
    stop_signal: ELSEWHERE, // the record; by `chooseStopSignal`
  },
  LinuxContainerConfig: { resources: 'container-spec.ts', security_context: 'container-spec.ts' },
  LinuxContainerSecurityContext: {
    capabilities: 'container-spec.ts',
    privileged: 'container-spec.ts',
    namespace_options: 'namespaces.ts',
    selinux_options: 'container-spec.ts',
    run_as_user: 'user.ts',
    run_as_group: 'user.ts',
    run_as_username: 'user.ts',
    readonly_rootfs: 'container-spec.ts',
    supplemental_groups: 'user.ts',
    supplemental_groups_policy: 'user.ts',
    no_new_privs: 'container-spec.ts',
    masked_paths: 'container-spec.ts',
    readonly_paths: 'container-spec.ts',
    seccomp: 'load-seccomp-profile.ts',
    apparmor: 'apparmor.ts',
    apparmor_profile: 'apparmor.ts',
    seccomp_profile_path: 'load-seccomp-profile.ts',
  },
  LinuxContainerResources: {
    cpu_period: 'resources.ts',
    cpu_quota: 'resources.ts',
    cpu_shares: 'resources.ts',
    memory_limit_in_bytes: 'resources.ts',
    oom_score_adj: 'container-spec.ts',
    cpuset_cpus: 'resources.ts',
    cpuset_mems: 'resources.ts',
    hugepage_limits: 'resources.ts',
    unified: 'resources.ts',
    memory_swap_limit_in_bytes: 'resources.ts',
  },
  Capability: {
    add_capabilities: 'capabilities.ts',
    drop_capabilities: 'capabilities.ts',
    add_ambient_capabilities: 'capabilities.ts',
  },
  NamespaceOption: {
    network: 'namespace-rules.ts',
    pid: 'namespaces.ts',
    ipc: 'namespace-rules.ts',
    target_id: 'namespace-rules.ts',
    userns_options: 'namespace-rules.ts',
  },
  UserNamespace: { mode: 'namespace-rules.ts', uids: 'namespace-rules.ts', gids: 'namespace-rules.ts' },
  IDMapping: {
    host_id: 'namespace-rules.ts',
    container_id: 'namespace-rules.ts',
    length: 'namespace-rules.ts',
  },
  SELinuxOption: { user: 'selinux.ts', role: 'selinux.ts', type: 'selinux.ts', level: 'selinux.ts' },
  SecurityProfile: { profile_type: 'security-profile.ts', localhost_ref: 'security-profile.ts' },
  Mount: {
    container_path: 'mounts.ts',
    host_path: 'gather-mounts.ts',
    readonly: 'mounts.ts',
    selinux_relabel: 'mount-rules.ts',
    propagation: 'mounts.ts',
    uidMappings: 'mounts.ts',
    gidMappings: 'mounts.ts',
    recursive_read_only: 'mounts.ts',
    image: 'gather-mounts.ts',
    image_sub_path: 'gather-mounts.ts',
  },
  Device: { container_path: 'gather-devices.ts', host_path: 'gather-devices.ts', permissions: 'devices.ts' },
  CDIDevice: { name: '../cdi/cdi-devices.ts' },
  KeyValue: { key: 'environment.ts', value: 'environment.ts' },
  HugepageLimit: { page_size: 'resources.ts', limit: 'resources.ts' },
};

const fields = (await linuxFileSystem.readText(join(ROOT, 'protocols/cri-runtime-v1.tsv')))
  .split('\n')
  .map((line) => line.split('\t'))
  .filter(([kind, message = '']) => kind === 'field' && message in HOMES)
  .map(([, message = '', , name = '']) => ({ message, name }));

test('every field of a container is listed', () => {
  const listed = Object.entries(HOMES).flatMap(([message, homes]) =>
    Object.keys(homes).map((name) => `${message}.${name}`),
  );
  assert.deepEqual(fields.map(({ message, name }) => `${message}.${name}`).sort(), listed.sort());
});

test('every listed file mentions its field', async () => {
  const silent: string[] = [];
  for (const { message, name } of fields) {
    const home = HOMES[message]?.[name] ?? ELSEWHERE;
    if (home === ELSEWHERE) continue;
    const code = await linuxFileSystem.readText(join(HERE, home));
    if (!new RegExp(`\\b${inCode(name)}\\b`).test(code)) silent.push(`${message}.${name}`);
  }
  assert.deepEqual(silent, []);
});

function inCode(name: string): string {
  return name
    .replace(/_([a-z])/g, (_, letter: string) => letter.toUpperCase())
    .replace('CDI_', 'CDI')
    .replace('CDId', 'CDID');
}
