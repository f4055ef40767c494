/** The message of any thrown value; an `AggregateError` includes the messages of its errors. */
export function errorText(error: unknown): string {
  if (error instanceof AggregateError) {
    return [error.message, ...error.errors.map(errorText)].filter((text) => text !== '').join('; ');
  }
  return error instanceof Error ? error.message : String(error);
}
