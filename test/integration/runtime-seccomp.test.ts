/** The default seccomp profile, in force in real containers, and compared with that of Debian. */
import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import { basename } from 'node:path';
import { type TestContext, test } from 'node:test';
import { byCodePoint } from '../../src/base/code-point-order.ts';
import {
  ContainerState,
  CreateContainerRequest,
  NamespaceMode,
  SecurityProfile_ProfileType as ProfileType,
} from '../../src/cri/generated/runtime-v1.ts';
import type { OciSeccomp } from '../../src/runtime/oci/oci-spec.ts';
import { DEFAULT_SECCOMP_PROFILE } from '../../src/runtime/spec/default-seccomp-profile.ts';
import { parseSeccompProfile } from '../../src/runtime/spec/parse-seccomp-profile.ts';
import { applySeccompProfile } from '../../src/runtime/spec/seccomp.ts';
import { ContainerFixture, never } from './container-fixture.ts';
import { host, usableCrun, usableRunc } from './oci-fixture.ts';

/** From golang-github-containers-common. */
const DEBIAN = '/usr/share/containers/seccomp.json';
const CAPABILITIES = ['CAP_CHOWN', 'CAP_KILL', 'CAP_SETUID', 'CAP_SYS_CHROOT'];
const MACHINE = { architecture: 'amd64', kernel: '6.1.0' };

/** Without a filter, the kernel requires no capability for a user namespace, and CAP_SYS_ADMIN for a mount. */
const ATTEMPTS = `
attempt() { name=$1; shift; "$@" >/dev/null 2>&1 && echo "$name: allowed" || echo "$name: denied"; }
attempt fork true
attempt mount mount -t tmpfs none /mnt
attempt userns unshare -U true
attempt chroot chroot / true
grep '^Seccomp:' /proc/self/status
`;

async function attempts(t: TestContext, program: string, context: object): Promise<string> {
  const made = new ContainerFixture(program);
  t.after(() => made.close());
  const { verbs } = await made.start();
  const namespaceOptions = { network: NamespaceMode.NODE, ipc: NamespaceMode.NODE, pid: NamespaceMode.CONTAINER };
  const linux = { securityContext: { namespaceOptions, ...context } };
  const request = CreateContainerRequest.create({
    podSandboxId: 'pod1',
    config: made.config(`mkdir -p /mnt; ${ATTEMPTS}`, { linux }),
  });
  const { containerId } = await verbs.createContainer(request, never);
  await verbs.startContainer({ containerId }, never);
  for (;;) {
    const { status } = await verbs.containerStatus({ containerId, verbose: false }, never);
    if (status?.state === ContainerState.CONTAINER_EXITED) break;
    await host.clock.sleep(20, never);
  }
  return made.log().replaceAll(/^\S+ std\w+ F /gm, '');
}

const DEFAULT = { seccomp: { profileType: ProfileType.RuntimeDefault } };
const ADMIN = { capabilities: { addCapabilities: ['SYS_ADMIN'], dropCapabilities: ['SYS_CHROOT'] } };

for (const { program, skip } of [await usableCrun(), await usableRunc()]) {
  test(`${basename(program)} denies and allows by capability with the default profile`, { skip }, async (t) => {
    const results = {
      unconfined: await attempts(t, program, {}),
      confined: await attempts(t, program, DEFAULT),
      admin: await attempts(t, program, { ...DEFAULT, ...ADMIN }),
    };
    assert.deepEqual(results, {
      unconfined: 'fork: allowed\nmount: denied\nuserns: allowed\nchroot: allowed\nSeccomp:\t0\n',
      confined: 'fork: allowed\nmount: denied\nuserns: denied\nchroot: allowed\nSeccomp:\t2\n',
      admin: 'fork: allowed\nmount: allowed\nuserns: allowed\nchroot: denied\nSeccomp:\t2\n',
    });
  });
}

/** Podman runs unprivileged containers in containers: its profile leaves these to the kernel's own checks. */
const NESTED = `clone3 fsconfig fsmount fsopen fspick mount mount_setattr move_mount open_tree pivot_root setns umount
  umount2 unshare`;
const DIFFERENCES: Record<'onlyDebian' | 'onlyOurs', Record<string, string>> = {
  onlyDebian: {
    'containers in containers': NESTED,
    'keyrings, which are shared with the host': 'keyctl',
    'allowed by capability: SYS_NICE, SYS_PTRACE, SYS_BOOT, SYSLOG': `
      get_mempolicy mbind set_mempolicy pidfd_getfd reboot syslog`,
    'replaced by newer calls before Linux 2.6': 'readdir sigaction signal sigpending sigsuspend syscall timerfd',
  },
  onlyOurs: {
    'newer than the package': `
      cachestat fchmodat2 futex_requeue futex_wait futex_waitv futex_wake getxattrat listmount listxattrat
      lsm_get_self_attr lsm_list_modules lsm_set_self_attr map_shadow_stack mseal removexattrat setxattrat statmount
      uretprobe`,
    'allowed by containerd and Docker': 'io_pgetevents io_pgetevents_time64 vmsplice',
  },
};

test('the default seccomp profile differs from that of Debian 12 where it should', {
  skip: !existsSync(DEBIAN),
}, () => {
  const allowedIn = ({ syscalls = [] }: OciSeccomp): Set<string> =>
    new Set(syscalls.flatMap(({ names, action }) => (action === 'SCMP_ACT_ALLOW' ? names : [])));
  const ours = allowedIn(applySeccompProfile(DEFAULT_SECCOMP_PROFILE, CAPABILITIES, MACHINE));
  const debians = allowedIn(
    applySeccompProfile(parseSeccompProfile(readFileSync(DEBIAN, 'utf8')), CAPABILITIES, MACHINE),
  );
  const listed = (groups: Record<string, string>): string[] =>
    Object.values(groups)
      .flatMap((names) => names.trim().split(/\s+/))
      .sort(byCodePoint);
  assert.deepEqual([...debians].filter((name) => !ours.has(name)).sort(byCodePoint), listed(DIFFERENCES.onlyDebian));
  assert.deepEqual([...ours].filter((name) => !debians.has(name)).sort(byCodePoint), listed(DIFFERENCES.onlyOurs));
});
