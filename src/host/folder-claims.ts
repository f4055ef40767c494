/** The purpose that a process uses a folder for. */
export type FolderUse = 'agent' | 'image command';

/** Locks on folders that only one process at a time may use. */
export interface FolderClaims {
  /**
   * Locks an existing folder by a lock file in it until the claim is disposed of or the process ends. Rejects with a
   * `FolderTakenError` while another process has the lock.
   */
  claim(folder: string, use: FolderUse): Promise<AsyncDisposable>;
}

/** The process that has locked a folder, as far as it is known. */
export interface FolderHolder {
  readonly pid: number | undefined;
  readonly use: FolderUse;
}

export class FolderTakenError extends Error {
  override readonly name = 'FolderTakenError';
  readonly folder: string;
  readonly holder: FolderHolder;

  constructor(folder: string, holder: FolderHolder, options?: ErrorOptions) {
    super(folderTakenMessage(folder, holder), options);
    this.folder = folder;
    this.holder = holder;
  }
}

/** `/var/lib/nodelet is in use by another agent (pid 42)` */
export function folderTakenMessage(folder: string, holder: FolderHolder): string {
  const what = holder.use === 'agent' ? 'another agent' : `an ${holder.use}`;
  return `${folder} is in use by ${what}${pidText(holder)}`;
}

/** ` (pid 42)` */
export function pidText({ pid }: Pick<FolderHolder, 'pid'>): string {
  return pid === undefined ? '' : ` (pid ${pid})`;
}
