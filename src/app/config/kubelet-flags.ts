/** Flags that have a meaning of their own, apart from KubeletConfiguration. Paths are as they were given. */
export interface KubeletFlags {
  /** File with the KubeletConfiguration. */
  readonly config?: string;
  /** Folder of drop-ins. */
  readonly configDir?: string;
  /** How to reach the API server; without it the kubelet stands alone. */
  readonly kubeconfig?: string;
  /** With what to ask for a first client certificate. */
  readonly bootstrapKubeconfig?: string;
  readonly hostnameOverride?: string;
  /** One address or two, separated by a comma. */
  readonly nodeIp?: string;
  readonly nodeLabels: Readonly<Record<string, string>>;
  readonly rootDir: string;
  readonly certDir: string;
  /** `external`, or absent. */
  readonly cloudProvider?: string;
  readonly imageCredentialProviderBinDir?: string;
  readonly imageCredentialProviderConfig?: string;
  /** Locked at the start; waits while another process has the lock. */
  readonly lockFile?: string;
  /** Ends when another process opens `lockFile`. */
  readonly exitOnLockContention: boolean;
  readonly ignoreEvictionInAllocatable: boolean;
  /** Age from which a dead container may be removed. */
  readonly minimumContainerTtlMs: number;
  /** On the node; negative for no limit. */
  readonly maximumDeadContainers: number;
  readonly maximumDeadContainersPerContainer: number;
  readonly help: boolean;
  /** `raw` prints every detail. */
  readonly version: boolean | 'raw';
}

/** What stands when no flag is given. */
export const DEFAULT_FLAGS: KubeletFlags = {
  nodeLabels: {},
  rootDir: '/var/lib/kubelet',
  certDir: '/var/lib/kubelet/pki',
  exitOnLockContention: false,
  ignoreEvictionInAllocatable: false,
  minimumContainerTtlMs: 0,
  maximumDeadContainers: -1,
  maximumDeadContainersPerContainer: 1,
  help: false,
  version: false,
};
