/** A refusal of the memory kernel, before it is given the shape of the port that asked. */
export class Errno extends Error {
  override readonly name = 'Errno';
  /** `ENOENT`, … */
  readonly code: string;

  constructor(code: string) {
    super(code);
    this.code = code;
  }
}
