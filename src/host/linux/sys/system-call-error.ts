/** A failed call of libc: `openat2 etc/passwd: ENOENT`. */
export class SystemCallError extends Error {
  override readonly name = 'SystemCallError';
  readonly call: string;
  /** The errno name: `EINVAL`, … */
  readonly code: string;

  /** `subject`: the path or the number that the call was about. */
  constructor(call: string, code: string, subject = '') {
    super(`${subject === '' ? call : `${call} ${subject}`}: ${code}`);
    this.call = call;
    this.code = code;
  }
}
