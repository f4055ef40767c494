/** What a process uses a folder for. */
export type FolderUse = 'agent' | 'image command';

/** Folders in which only one process at a time may work. */
export interface FolderClaims {
  /**
   * Makes the folder ours until the claim is disposed of or the process ends, however it ends. The folder has to be
   * there; a small file in it bears the claim. Rejects with a `FolderTakenError` while another claim stands.
   */
  claim(folder: string, use: FolderUse): Promise<AsyncDisposable>;
}

/** The process that has claimed a folder, as far as it is known. */
export interface FolderHolder {
  readonly pid: number | undefined;
  readonly use: FolderUse;
}

export class FolderTakenError extends Error {
  override readonly name = 'FolderTakenError';
  readonly folder: string;
  readonly holder: FolderHolder;

  constructor(folder: string, holder: FolderHolder, options?: ErrorOptions) {
    super(takenText(folder, holder), options);
    this.folder = folder;
    this.holder = holder;
  }
}

/** `/var/lib/nodelet is in use by another agent (pid 42)` */
export function takenText(folder: string, holder: FolderHolder): string {
  const what = holder.use === 'agent' ? 'another agent' : `an ${holder.use}`;
  return `${folder} is in use by ${what}${pidText(holder)}`;
}

/** ` (pid 42)` */
export function pidText({ pid }: Pick<FolderHolder, 'pid'>): string {
  return pid === undefined ? '' : ` (pid ${pid})`;
}
