/** A plugin requests something unsupported. The message begins with the field. */
export class AdjustmentError extends Error {
  override readonly name = 'AdjustmentError';

  constructor(field: string, reason: string) {
    super(`${field}: ${reason}`);
  }
}
