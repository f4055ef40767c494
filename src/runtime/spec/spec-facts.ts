import type { CdiEdits } from '../cdi/cdi-spec.ts';
import type { OciSeccomp } from '../oci/oci-spec.ts';
import type { HostDevice } from './devices.ts';
import type { Accounts } from './user.ts';

/** What had to be looked up on the machine for one container: a specification is a function of this and the request. */
export interface SpecFacts {
  readonly accounts: Accounts;
  /** By the index in `container.mounts`: its source without links. It exists. */
  readonly mountSources: ReadonlyMap<number, MountSource>;
  /** By the index in `container.devices`: the device, or all below the folder. */
  readonly devices: ReadonlyMap<number, readonly HostDevice[]>;
  /** All of the machine, for a privileged container; else none. */
  readonly hostDevices: readonly HostDevice[];
  /** The profile that applies, still with its conditions; absent: unconfined. */
  readonly seccomp?: SeccompProfile;
  /** The names of the AppArmor profiles that are loaded; empty without AppArmor. */
  readonly appArmorProfiles: ReadonlySet<string>;
  /** In the order of the devices that were asked for. */
  readonly cdi: readonly CdiEdits[];
}

export interface MountSource {
  readonly path: string;
  /** Its ids are mapped already. */
  readonly mapped?: boolean;
  /** Of the mount that holds it. Known only where the container wants more than a private mount. */
  readonly propagation?: 'shared' | 'slave' | 'private';
}

/** The format of containers/common; a plain OCI profile is one without conditions. */
export interface SeccompProfile extends Omit<OciSeccomp, 'syscalls'> {
  readonly archMap: readonly { readonly architecture: string; readonly subArchitectures: readonly string[] }[];
  readonly syscalls: readonly SeccompRule[];
}

export type SeccompRule = NonNullable<OciSeccomp['syscalls']>[number] & {
  readonly includes: SeccompCondition;
  readonly excludes: SeccompCondition;
};

export interface SeccompCondition {
  readonly arches: readonly string[];
  readonly caps: readonly string[];
  readonly minKernel: string;
}
