/** The text of anything that was thrown, with those of its parts when several failed at once. */
export function textOf(error: unknown): string {
  if (error instanceof AggregateError) {
    return [error.message, ...error.errors.map(textOf)].filter((text) => text !== '').join('; ');
  }
  return error instanceof Error ? error.message : String(error);
}
