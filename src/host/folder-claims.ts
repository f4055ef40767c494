/** Folders in which only one program at a time may work. */
export interface FolderClaims {
  /**
   * Makes the folder ours until the claim is disposed of or the process ends, however it ends. The folder has to be
   * there; a small file in it bears the claim. Rejects with a `FolderTakenError` while somebody else has it.
   */
  claim(folder: string): Promise<AsyncDisposable>;
}

export class FolderTakenError extends Error {
  override readonly name = 'FolderTakenError';
  readonly folder: string;
  /** Who has it, if that can be told. */
  readonly pid: number | undefined;

  constructor(folder: string, pid: number | undefined, options?: ErrorOptions) {
    super(`${folder} is in use by another agent${pid === undefined ? '' : ` (pid ${pid})`}`, options);
    this.folder = folder;
    this.pid = pid;
  }
}
