import { invalidField } from '../../cri/field-error.ts';
import type { SandboxNamespaces } from '../store/sandbox-record.ts';

/** Sysctls of an IPC namespace. Other names below `kernel` belong to the host. */
const IPC_SYSCTLS: ReadonlySet<string> = new Set([
  'kernel/msgmax',
  'kernel/msgmnb',
  'kernel/msgmni',
  'kernel/sem',
  'kernel/shmall',
  'kernel/shmmax',
  'kernel/shmmni',
  'kernel/shm_rmid_forced',
]);

/**
 * The sysctls of a sandbox by their path below /proc/sys. Rejects sysctls that do not belong to a namespace of the sandbox:
 * they would change the host.
 */
export function sandboxSysctls(
  sysctls: Readonly<Record<string, string>>,
  namespaces: Pick<SandboxNamespaces, 'network' | 'ipc' | 'uts'>,
): ReadonlyArray<readonly [path: string, value: string]> {
  return Object.entries(sysctls).map(([name, value]) => {
    const path = sysctlPath(name);
    const error = sysctlError(path, namespaces);
    if (error !== undefined) throw invalidField(sysctlField(name), error);
    return [path, value] as const;
  });
}

/** The CRI field of a sysctl. */
export function sysctlField(name: string): string {
  return `linux.sysctls[${JSON.stringify(name)}]`;
}

/**
 * Parses a name like sysctl(8): the first separator decides. `net.ipv4.conf.eth0/1.forwarding` and
 * `net/ipv4/conf/eth0.1/forwarding` are the same.
 */
export function sysctlPath(name: string): string {
  const separator = /[./]/.exec(name)?.[0];
  return separator === '/' ? name : name.replace(/[./]/g, (mark) => (mark === '.' ? '/' : '.'));
}

function sysctlError(
  path: string,
  { network, ipc, uts }: Pick<SandboxNamespaces, 'network' | 'ipc' | 'uts'>,
): string | undefined {
  const parts = path.split('/');
  if (parts.length < 2 || parts.some((part) => part === '' || part === '.' || part === '..'))
    return 'not a sysctl name';
  if (parts[0] === 'net') return network === undefined ? 'not allowed with the network of the node' : undefined;
  if (IPC_SYSCTLS.has(path) || path.startsWith('fs/mqueue/')) {
    return ipc === undefined ? 'not allowed with the IPC namespace of the node' : undefined;
  }
  if (path === 'kernel/domainname') return uts === undefined ? 'not allowed with the network of the node' : undefined;
  if (path === 'kernel/hostname') return 'the host name has its own field';
  return 'belongs to no namespace of a sandbox';
}
