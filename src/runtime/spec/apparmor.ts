import { assertNever } from '../../base/assert-never.ts';
import { invalidField } from '../../cri/field-error.ts';
import type { LinuxContainerSecurityContext } from '../../cri/generated/runtime-v1.ts';
import type { AppArmorState } from './apparmor-default.ts';
import { profileChoice } from './security-profile.ts';

const FIELD = 'linux.security_context.apparmor';

/**
 * Returns the profile of a container, `undefined` for none. As in containerd, a container that does not specify one gets
 * the default profile where there is one; only an explicit request is rejected where it cannot be met.
 */
export function appArmorProfile(
  context: LinuxContainerSecurityContext | undefined,
  { loaded, byDefault }: AppArmorState,
): string | undefined {
  const older = { field: `${FIELD}_profile`, value: context?.apparmorProfile ?? '' };
  const choice = profileChoice(FIELD, context?.apparmor, older);
  const isExplicit = choice.kind !== 'unset';
  if (choice.kind === 'unconfined') return undefined;
  if (isExplicit && byDefault.kind === 'disabled') throw invalidField(FIELD, 'apparmor is not supported');
  if (choice.kind === 'localhost') {
    if (loaded.has(choice.name)) return choice.name;
    throw invalidField(`${FIELD}.localhost_ref`, `apparmor profile not found ${choice.name}`);
  }
  if (context?.privileged) return undefined;
  switch (byDefault.kind) {
    case 'applied':
      return byDefault.profile;
    case 'disabled':
      return undefined;
    case 'missing':
      if (isExplicit) throw invalidField(FIELD, byDefault.reason);
      return undefined;
    default:
      return assertNever(byDefault);
  }
}
