import { invalidField } from '../../cri/field-error.ts';
import { SecurityProfile_ProfileType as ProfileType, type SecurityProfile } from '../../cri/generated/runtime-v1.ts';

/** The choice of a seccomp or AppArmor profile in CRI. */
export type ProfileChoice =
  /** Not specified. */
  | { readonly kind: 'unset' }
  | { readonly kind: 'unconfined' }
  | { readonly kind: 'runtimeDefault' }
  | { readonly kind: 'localhost'; readonly name: string };

const LOCALHOST = 'localhost/';

/** `deprecated` is the older field of the same meaning; used only if the newer one is not set. */
export function profileChoice(
  field: string,
  profile: SecurityProfile | undefined,
  deprecated: { readonly field: string; readonly value: string },
): ProfileChoice {
  if (profile === undefined) return olderChoice(deprecated.field, deprecated.value);
  const { profileType, localhostRef } = profile;
  if (profileType !== ProfileType.Localhost && localhostRef !== '') {
    throw invalidField(`${field}.localhost_ref`, 'must only be set if profile_type is Localhost');
  }
  switch (profileType) {
    case ProfileType.RuntimeDefault:
      return { kind: 'runtimeDefault' };
    case ProfileType.Unconfined:
      return { kind: 'unconfined' };
    case ProfileType.Localhost:
      return localhost(`${field}.localhost_ref`, localhostRef);
    default:
      throw invalidField(`${field}.profile_type`, `unknown profile type ${profileType}`);
  }
}

function olderChoice(field: string, value: string): ProfileChoice {
  switch (value) {
    case '':
      return { kind: 'unset' };
    case 'unconfined':
      return { kind: 'unconfined' };
    case 'runtime/default':
    case 'docker/default':
      return { kind: 'runtimeDefault' };
    default:
      if (value.startsWith(LOCALHOST)) return localhost(field, value);
      throw invalidField(field, `unknown profile ${JSON.stringify(value)}`);
  }
}

function localhost(field: string, reference: string): ProfileChoice {
  const name = reference.startsWith(LOCALHOST) ? reference.slice(LOCALHOST.length) : reference;
  if (name === '') throw invalidField(field, 'must name a profile');
  return { kind: 'localhost', name };
}
