export type VolumeOptions = {
  readonly rootDir: string;
  /** Absent: all for `ls`, `default` for names without one. */
  readonly namespace: string | undefined;
} & (
  | { readonly verb: 'ls'; readonly output: VolumeFormat }
  | { readonly verb: 'inspect'; readonly volume: string; readonly output: VolumeFormat }
  | { readonly verb: 'rm'; readonly volumes: readonly string[] }
);

export type VolumeFormat = 'text' | 'json' | 'yaml';
