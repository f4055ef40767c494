/** Makes the compiler prove that a union was handled to the end. */
export function assertNever(value: never): never {
  throw new Error(`unexpected value ${JSON.stringify(value)}`);
}
