import type { OciSeccomp } from '../oci/oci-spec.ts';
import type { LinuxSeccomp, LinuxSeccompArg } from './generated/nri-v1alpha1.ts';
import { omitUndefined, toNumber } from './plain-values.ts';

export function ociSeccomp(policy: LinuxSeccomp): OciSeccomp {
  return {
    defaultAction: policy.defaultAction,
    architectures: policy.architectures,
    flags: policy.flags,
    syscalls: policy.syscalls.map(({ names, action, errnoRet, args }) => ({
      names,
      action,
      args: args.map(ociArgument),
      ...omitUndefined({ errnoRet: errnoRet?.value }),
    })),
    ...omitUndefined({
      defaultErrnoRet: policy.defaultErrno?.value,
      listenerPath: policy.listenerPath === '' ? undefined : policy.listenerPath,
      listenerMetadata: policy.listenerMetadata === '' ? undefined : policy.listenerMetadata,
    }),
  };
}

function ociArgument({ index, value, valueTwo, op }: LinuxSeccompArg) {
  const field = 'linux.seccomp_policy.syscalls.args';
  return { index, value: toNumber(value, field), valueTwo: toNumber(valueTwo, field), op };
}
