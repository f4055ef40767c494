import { assertNever } from '../../base/assert-never.ts';
import { invalidField } from '../../cri/field-error.ts';
import type { LinuxContainerSecurityContext } from '../../cri/generated/runtime-v1.ts';
import { profileChoice } from './security-profile.ts';

const FIELD = 'linux.security_context.apparmor';

/** Default profiles of other runtimes, which confine as `RuntimeDefault` requires. */
const DEFAULTS = ['cri-containerd.apparmor.d', 'crio-default', 'docker-default'];

/** `loaded`: the loaded profiles, or `undefined` on a machine without AppArmor. */
export function appArmorProfile(
  context: LinuxContainerSecurityContext | undefined,
  loaded: ReadonlySet<string> | undefined,
): string | undefined {
  const older = { field: `${FIELD}_profile`, value: context?.apparmorProfile ?? '' };
  const choice = profileChoice(FIELD, context?.apparmor, older);
  if (choice.kind === 'unconfined') return undefined;
  if (loaded === undefined) {
    if (choice.kind === 'unset') return undefined;
    throw invalidField(FIELD, 'apparmor is not supported');
  }
  const found = DEFAULTS.find((name) => loaded.has(name));
  switch (choice.kind) {
    case 'unset':
      return context?.privileged ? undefined : found;
    case 'runtimeDefault':
      if (context?.privileged || found !== undefined) return context?.privileged ? undefined : found;
      throw invalidField(FIELD, `none of the default profiles is loaded (${DEFAULTS.join(', ')})`);
    case 'localhost':
      if (loaded.has(choice.name)) return choice.name;
      throw invalidField(`${FIELD}.localhost_ref`, `apparmor profile not found ${choice.name}`);
    default:
      return assertNever(choice);
  }
}
