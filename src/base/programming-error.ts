/**
 * Whether the error is one that JavaScript raises for a mistake in the program. Other errors come from code that expected
 * them to happen.
 */
export function isProgrammingError(error: unknown): boolean {
  return error instanceof TypeError || error instanceof ReferenceError || error instanceof RangeError;
}
