/** A plugin asks for something that cannot be done. The message begins with the field that it set. */
export class AdjustmentError extends Error {
  override readonly name = 'AdjustmentError';

  constructor(field: string, reason: string) {
    super(`${field}: ${reason}`);
  }
}
