/** An error of the in-memory kernel, before the port turns it into its own error type. */
export class Errno extends Error {
  override readonly name = 'Errno';
  /** `ENOENT`, … */
  readonly code: string;

  constructor(code: string) {
    super(code);
    this.code = code;
  }
}
