/**
 * What `nodelet image` asks for. The owner of a storage folder does it: a runtime that is at work there, behind its
 * socket, or the command itself when there is none. Rejections are `CriError`s.
 */
export interface ImageOperations {
  /** An archive by its path. Images before one that is wrong stay. */
  load(request: { readonly path: string }, signal: AbortSignal): Promise<readonly NamedImage[]>;
  build(request: ImageBuild, signal: AbortSignal): Promise<NamedImage>;
  tag(request: { readonly image: string; readonly name: string }, signal: AbortSignal): Promise<NamedImage>;
  list(request: Record<string, never>, signal: AbortSignal): Promise<readonly ListedImage[]>;
  /** An image that has other names loses this one alone; by its id it goes with all of them. */
  remove(request: { readonly image: string }, signal: AbortSignal): Promise<NamedImage>;
}

export interface NamedImage {
  readonly name: string;
  /** `sha256:…` */
  readonly id: string;
}

export interface ImageBuild {
  /** A folder, or a tar file. */
  readonly rootfs: string;
  readonly name: string;
  readonly config: {
    readonly cmd: readonly string[];
    readonly entrypoint: readonly string[];
    readonly env: readonly string[];
    readonly user: string;
    readonly workingDir: string;
  };
}

export interface ListedImage {
  readonly id: string;
  readonly names: readonly string[];
  readonly sizeBytes: number;
  readonly pinned: boolean;
}
