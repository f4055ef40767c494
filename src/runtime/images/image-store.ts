/** The images that are here, whole: one whose last layer is not unpacked yet is not in it. One owner; on disk atomically. */
export interface ImageStore {
  /** By id (with or without `sha256:`, or a unique beginning of it), `name:tag`, or `name@digest`; short names as Docker reads them. */
  find(reference: string): StoredImage | undefined;
  list(): readonly StoredImage[];
}

export interface StoredImage {
  /** `sha256:…`, the digest of its configuration. */
  readonly id: string;
  /** `docker.io/library/busybox:1.36` */
  readonly repoTags: readonly string[];
  /** `docker.io/library/busybox@sha256:…` */
  readonly repoDigests: readonly string[];
  readonly sizeBytes: number;
  readonly config: ImageConfig;
  readonly pinned: boolean;
}

/** What an image says of the containers made from it: `config` of OCI's image configuration. */
export interface ImageConfig {
  readonly user: string;
  readonly env: readonly string[];
  readonly entrypoint: readonly string[];
  readonly cmd: readonly string[];
  readonly workingDir: string;
  /** `SIGQUIT`, `3` or empty. */
  readonly stopSignal: string;
  readonly volumes: readonly string[];
  readonly labels: Readonly<Record<string, string>>;
}
