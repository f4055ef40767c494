/** Specifications of the Container Device Interface: a vendor's edits of the OCI spec for each of its devices. */
import type { OciHooks } from '../oci/oci-spec.ts';

export interface CdiSpec {
  /** `vendor.com/class` */
  readonly kind: string;
  /** For every container with any of the devices. */
  readonly edits: CdiEdits;
  readonly devices: ReadonlyMap<string, CdiEdits>;
}

export interface CdiEdits {
  readonly env: readonly string[];
  readonly deviceNodes: readonly CdiDeviceNode[];
  readonly mounts: readonly CdiMount[];
  readonly hooks: readonly CdiHook[];
  readonly intelRdt?: Readonly<Record<string, unknown>>;
  readonly additionalGids: readonly number[];
}

export interface CdiDeviceNode {
  /** In the container. */
  readonly path: string;
  readonly hostPath: string;
  /** Absent fields are read from the device. */
  readonly type?: 'c' | 'b' | 'u' | 'p';
  readonly major?: number;
  readonly minor?: number;
  readonly fileMode?: number;
  readonly uid?: number;
  readonly gid?: number;
  readonly permissions: string;
}

export interface CdiMount {
  readonly hostPath: string;
  readonly containerPath: string;
  readonly type: string;
  readonly options: readonly string[];
}

export interface CdiHook {
  readonly hookName: keyof OciHooks;
  readonly path: string;
  readonly args: readonly string[];
  readonly env: readonly string[];
  readonly timeout?: number;
}

export const NO_EDITS: CdiEdits = { env: [], deviceNodes: [], mounts: [], hooks: [], additionalGids: [] };
