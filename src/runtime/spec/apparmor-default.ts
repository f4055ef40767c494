import { APPARMOR_DEFAULT } from './default-apparmor-profile.ts';

/** Profiles of other runtimes, which confine as `RuntimeDefault` requires. Used if ours cannot be loaded. */
const OTHER_DEFAULTS = ['cri-containerd.apparmor.d', 'crio-default', 'docker-default'];

/** The AppArmor profile of `RuntimeDefault` on this machine. */
export type AppArmorDefault =
  /** `reason`: why it is the profile of another runtime, or of a previous version. */
  | { readonly kind: 'applied'; readonly profile: string; readonly reason?: string }
  /** The kernel does not use AppArmor. */
  | { readonly kind: 'disabled' }
  /** The kernel uses AppArmor, but there is no default profile. */
  | { readonly kind: 'missing'; readonly reason: string };

export interface AppArmorState {
  readonly loaded: ReadonlySet<string>;
  readonly byDefault: AppArmorDefault;
}

export const APPARMOR_DISABLED: AppArmorState = { loaded: new Set(), byDefault: { kind: 'disabled' } };

/** What decides whether our profile is loaded. */
export interface AppArmorMachine {
  readonly loaded: ReadonlySet<string>;
  /** The path of apparmor_parser. */
  readonly parser: string | undefined;
  /** The profile that this runtime last loaded since the machine was started. */
  readonly previousText: string | undefined;
  readonly text: string;
}

export type AppArmorPlan =
  | { readonly kind: 'keep' }
  | { readonly kind: 'load'; readonly parser: string }
  | { readonly kind: 'impossible'; readonly reason: string };

/**
 * Our profile is loaded if it is missing, or if a previous version of this program loaded a different one. A profile of
 * that name that was not loaded by this runtime is the operator's, and stays.
 */
export function planAppArmor({ loaded, parser, previousText, text }: AppArmorMachine): AppArmorPlan {
  const isCurrent = previousText === undefined || previousText === text;
  if (loaded.has(APPARMOR_DEFAULT) && isCurrent) return { kind: 'keep' };
  if (parser !== undefined) return { kind: 'load', parser };
  return { kind: 'impossible', reason: 'apparmor_parser is not installed: install the package apparmor' };
}

/** `reason`: why our profile could not be loaded. */
export function chooseDefaultProfile(loaded: ReadonlySet<string>, reason?: string): AppArmorDefault {
  const profile = [APPARMOR_DEFAULT, ...OTHER_DEFAULTS].find((name) => loaded.has(name));
  const why = `cannot load AppArmor profile ${APPARMOR_DEFAULT}: ${reason ?? 'the kernel does not list it'}`;
  if (profile === undefined) return { kind: 'missing', reason: why };
  return profile === APPARMOR_DEFAULT && reason === undefined
    ? { kind: 'applied', profile }
    : { kind: 'applied', profile, reason: why };
}
