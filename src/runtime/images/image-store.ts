/**
 * The stored images. An image is listed once all of its layers are unpacked. Has a single owner; written atomically.
 */
export interface ImageStore {
  /**
   * Looks up an image by ID (with or without `sha256:`, or a unique prefix), `name:tag`, or `name@digest`; short names
   * as in Docker.
   */
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

/** The image's defaults for containers: `config` of OCI's image configuration. */
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
