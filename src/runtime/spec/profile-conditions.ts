import { assertNever } from '../../base/assert-never.ts';
import type { AppArmorDefault } from './apparmor-default.ts';

/** A condition of CRI's `Status`. */
export interface ProfileCondition {
  readonly type: string;
  readonly status: boolean;
  readonly reason: string;
  readonly message: string;
}

/** Shows whether the profiles of `RuntimeDefault` are in force. They do not affect whether the runtime is ready. */
export function profileConditions(seccomp: boolean, appArmor: AppArmorDefault): readonly ProfileCondition[] {
  return [
    { type: 'DefaultSeccompProfileReady', ...seccompCondition(seccomp) },
    { type: 'DefaultAppArmorProfileReady', ...appArmorCondition(appArmor) },
  ];
}

type Condition = Omit<ProfileCondition, 'type'>;

function seccompCondition(isSupported: boolean): Condition {
  if (isSupported) return { status: true, reason: '', message: '' };
  const message = 'the kernel does not support seccomp: containers with a seccomp profile are rejected';
  return { status: false, reason: 'SeccompNotSupported', message };
}

function appArmorCondition(appArmor: AppArmorDefault): Condition {
  switch (appArmor.kind) {
    case 'applied':
      return appArmor.reason === undefined
        ? { status: true, reason: '', message: '' }
        : { status: true, reason: 'OtherProfile', message: `using ${appArmor.profile}: ${appArmor.reason}` };
    case 'disabled':
      return { status: false, reason: 'AppArmorDisabled', message: 'the kernel does not use AppArmor' };
    case 'missing':
      return { status: false, reason: 'ProfileNotLoaded', message: appArmor.reason };
    default:
      return assertNever(appArmor);
  }
}
