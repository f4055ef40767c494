import type { RuntimeFolders } from './runtime-options.ts';

export type ImageOptions = RuntimeFolders &
  (
    | PullOptions
    | { readonly verb: 'load' /** A path; `-` is standard input. */; readonly archive: string }
    | SaveOptions
    | ListOptions
    | { readonly verb: 'tag'; readonly image: string; readonly name: string }
    | {
        readonly verb: 'rm';
        readonly images: readonly string[] /** Whether missing ones are fine. */;
        readonly force: boolean;
      }
    | {
        readonly verb: 'build-from-rootfs';
        readonly rootfs: string;
        readonly name: string;
        readonly config: ImageSettings;
      }
  );

export interface PullOptions {
  readonly verb: 'pull';
  readonly images: readonly string[];
  readonly quiet: boolean;
  /** Its password is read from standard input; absent: docker's configuration has the logins. */
  readonly username: string | undefined;
  readonly platform: string | undefined;
  /** Absent: the usual ones, or those of the runtime that is at work. */
  readonly registryConfigDirs: readonly string[] | undefined;
}

export interface SaveOptions {
  readonly verb: 'save';
  readonly images: readonly string[];
  /** A path; `-` is standard output. */
  readonly output: string;
}

export interface ListOptions {
  readonly verb: 'ls';
  readonly format: 'table' | 'ids' | 'json';
  readonly digests: boolean;
  /** Whether ids are whole. */
  readonly whole: boolean;
}

/** What containers of an image start with. */
export interface ImageSettings {
  readonly cmd: readonly string[];
  readonly entrypoint: readonly string[];
  readonly env: readonly string[];
  readonly user: string;
  readonly workingDir: string;
}
