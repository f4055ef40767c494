import type { CdiEdits } from '../cdi/cdi-spec.ts';
import type { OciSeccomp } from '../oci/oci-spec.ts';
import type { AppArmorState } from './apparmor-default.ts';
import type { HostDevice } from './devices.ts';
import type { Accounts } from './user.ts';

/** Facts of the machine for one container: a specification is a pure function of these and the request. */
export interface SpecFacts {
  readonly accounts: Accounts;
  /** By index in `container.mounts`: the resolved source, which exists. */
  readonly mountSources: ReadonlyMap<number, MountSource>;
  /** By index in `container.devices`: the device, or all below the directory. */
  readonly devices: ReadonlyMap<number, readonly HostDevice[]>;
  /** All devices of the machine if the container gets them (`hasHostDevices`); else none. */
  readonly hostDevices: readonly HostDevice[];
  /** The profile that applies, with its conditions; absent: unconfined. */
  readonly seccomp?: SeccompProfile;
  readonly appArmor: AppArmorState;
  /** In the order of the requested devices. */
  readonly cdi: readonly CdiEdits[];
}

export interface MountSource {
  readonly path: string;
  /** Its IDs are mapped already. */
  readonly mapped?: boolean;
  /** Propagation of the mount that contains it. Set only if the container requests more than a private mount. */
  readonly propagation?: 'shared' | 'slave' | 'private';
}

/** The format of containers/common; a plain OCI profile has no conditions. */
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
