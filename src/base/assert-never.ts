/** Makes the compiler prove that every member of a union is handled. */
export function assertNever(value: never): never {
  throw new Error(`unexpected value ${JSON.stringify(value)}`);
}
