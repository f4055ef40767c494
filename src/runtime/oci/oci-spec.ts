/**
 * config.json of the OCI runtime specification 1.1, as far as CRI needs it. NRI and CDI return edited copies; values
 * are immutable.
 */
export interface OciSpec {
  readonly ociVersion: string;
  readonly process: OciProcess;
  readonly root: { readonly path: string; readonly readonly: boolean };
  readonly hostname?: string;
  readonly mounts: readonly OciMount[];
  readonly hooks?: OciHooks;
  readonly annotations: Readonly<Record<string, string>>;
  readonly linux: OciLinux;
}

export interface OciProcess {
  readonly terminal: boolean;
  readonly user: {
    readonly uid: number;
    readonly gid: number;
    readonly umask?: number;
    readonly additionalGids: readonly number[];
  };
  readonly args: readonly string[];
  readonly env: readonly string[];
  readonly cwd: string;
  readonly capabilities: OciCapabilities;
  readonly rlimits: readonly OciRlimit[];
  readonly noNewPrivileges: boolean;
  readonly apparmorProfile?: string;
  readonly selinuxLabel?: string;
  readonly oomScoreAdj?: number;
  readonly ioPriority?: { readonly class: string; readonly priority: number };
  readonly scheduler?: Readonly<Record<string, unknown>>;
}

export interface OciCapabilities {
  readonly bounding: readonly string[];
  readonly effective: readonly string[];
  readonly permitted: readonly string[];
  readonly inheritable?: readonly string[];
  readonly ambient?: readonly string[];
}

export interface OciRlimit {
  /** `RLIMIT_NOFILE` */
  readonly type: string;
  readonly soft: number;
  readonly hard: number;
}

export interface OciMount {
  readonly destination: string;
  readonly type?: string;
  readonly source?: string;
  readonly options: readonly string[];
  readonly uidMappings?: readonly OciIdMapping[];
  readonly gidMappings?: readonly OciIdMapping[];
}

export interface OciIdMapping {
  readonly containerID: number;
  readonly hostID: number;
  readonly size: number;
}

export interface OciHook {
  readonly path: string;
  readonly args?: readonly string[];
  readonly env?: readonly string[];
  readonly timeout?: number;
}

export interface OciHooks {
  readonly prestart?: readonly OciHook[];
  readonly createRuntime?: readonly OciHook[];
  readonly createContainer?: readonly OciHook[];
  readonly startContainer?: readonly OciHook[];
  readonly poststart?: readonly OciHook[];
  readonly poststop?: readonly OciHook[];
}

export interface OciLinux {
  readonly namespaces: readonly OciNamespace[];
  readonly uidMappings?: readonly OciIdMapping[];
  readonly gidMappings?: readonly OciIdMapping[];
  readonly devices: readonly OciDevice[];
  readonly cgroupsPath: string;
  readonly resources: OciResources;
  readonly sysctl?: Readonly<Record<string, string>>;
  readonly seccomp?: OciSeccomp;
  readonly rootfsPropagation?: string;
  readonly maskedPaths: readonly string[];
  readonly readonlyPaths: readonly string[];
  readonly mountLabel?: string;
  /** `closID` and schemata of Intel RDT. */
  readonly intelRdt?: Readonly<Record<string, unknown>>;
}

export interface OciNamespace {
  readonly type: 'pid' | 'network' | 'ipc' | 'uts' | 'mount' | 'user' | 'cgroup';
  /** Absent: a new one. */
  readonly path?: string;
}

export interface OciDevice {
  readonly path: string;
  readonly type: 'c' | 'b' | 'p' | 'u';
  readonly major?: number;
  readonly minor?: number;
  readonly fileMode?: number;
  readonly uid?: number;
  readonly gid?: number;
}

export interface OciDeviceRule {
  readonly allow: boolean;
  readonly type?: 'a' | 'c' | 'b';
  readonly major?: number;
  readonly minor?: number;
  readonly access?: string;
}

export interface OciResources {
  readonly devices: readonly OciDeviceRule[];
  readonly memory?: {
    readonly limit?: number;
    readonly reservation?: number;
    readonly swap?: number;
    readonly kernel?: number;
    readonly kernelTCP?: number;
    readonly swappiness?: number;
    readonly disableOOMKiller?: boolean;
    readonly useHierarchy?: boolean;
  };
  readonly cpu?: {
    readonly shares?: number;
    readonly quota?: number;
    readonly period?: number;
    readonly realtimeRuntime?: number;
    readonly realtimePeriod?: number;
    readonly cpus?: string;
    readonly mems?: string;
  };
  readonly pids?: { readonly limit: number };
  readonly hugepageLimits?: ReadonlyArray<{ readonly pageSize: string; readonly limit: number }>;
  readonly blockIO?: Readonly<Record<string, unknown>>;
  readonly rdt?: Readonly<Record<string, unknown>>;
  /** Files of cgroup v2 by name. */
  readonly unified?: Readonly<Record<string, string>>;
}

export interface OciSeccomp {
  readonly defaultAction: string;
  readonly defaultErrnoRet?: number;
  readonly architectures?: readonly string[];
  readonly flags?: readonly string[];
  readonly listenerPath?: string;
  readonly listenerMetadata?: string;
  readonly syscalls?: ReadonlyArray<{
    readonly names: readonly string[];
    readonly action: string;
    readonly errnoRet?: number;
    readonly args?: ReadonlyArray<{
      readonly index: number;
      readonly value: number;
      readonly valueTwo?: number;
      readonly op: string;
    }>;
  }>;
}
