import { fnv1a32 } from '../../base/go/fnv.ts';
import { invalidField } from '../../cri/field-error.ts';
import type { SELinuxOption } from '../../cri/generated/runtime-v1.ts';

const LEVEL = /^s\d(-s\d)?(:c\d{1,4}(\.c\d{1,4})?(,c\d{1,4}(\.c\d{1,4})?)*)?$/;

export interface SelinuxLabels {
  readonly selinuxLabel: string;
  readonly mountLabel: string;
}

/** Returns `undefined` on a machine without SELinux, where the options are only validated. */
export function selinuxLabels(
  own: SELinuxOption | undefined,
  ofSandbox: SELinuxOption | undefined,
  { sandboxId, enabled }: { readonly sandboxId: string; readonly enabled: boolean },
): SelinuxLabels | undefined {
  if (own && own.level !== '' && !LEVEL.test(own.level)) {
    throw invalidField('linux.security_context.selinux_options.level', `invalid format: ${JSON.stringify(own.level)}`);
  }
  if (!enabled) return undefined;
  const isSet = own && [own.user, own.role, own.type, own.level].some((part) => part !== '');
  const { user = '', role = '', type = '', level = '' } = (isSet ? own : ofSandbox) ?? {};
  const range = level || podLevel(sandboxId);
  return {
    selinuxLabel: [user || 'system_u', role || 'system_r', type || 'container_t', range].join(':'),
    mountLabel: [user || 'system_u', 'object_r', 'container_file_t', range].join(':'),
  };
}

/** Derives two of 1024 categories that separate pods from each other; all containers of a pod share them. */
function podLevel(sandboxId: string): string {
  const hash = fnv1a32(sandboxId);
  const first = hash % 1024;
  const second = (first + 1 + ((hash >>> 10) % 1023)) % 1024;
  return `s0:c${Math.min(first, second)},c${Math.max(first, second)}`;
}
