import { AdjustmentError } from './adjustment-error.ts';

/** Returns the object without undefined values. */
export function omitUndefined<T extends object>(object: T): { [K in keyof T]?: Exclude<T[K], undefined> } {
  const entries = Object.entries(object).filter(([, value]) => value !== undefined);
  return Object.fromEntries(entries) as { [K in keyof T]?: Exclude<T[K], undefined> }; // the same keys and values
}

/** config.json holds numbers; a value that cannot be represented exactly is rejected. */
export function toNumber(value: bigint, field: string): number {
  const number = Number(value);
  if (!Number.isSafeInteger(number)) throw new AdjustmentError(field, `${value} is too large`);
  return number;
}

export function optionalNumber(value: { readonly value: bigint } | undefined, field: string): number | undefined {
  return value === undefined ? undefined : toNumber(value.value, field);
}

/** Returns the name of a protobuf enum's value. */
export function enumName<N extends string>(names: Readonly<Record<N, number>>, value: number, field: string): N {
  const found = (Object.keys(names) as N[]).find((name) => names[name] === value); // its keys have that type
  if (found === undefined) throw new AdjustmentError(field, `unknown value ${value}`);
  return found;
}
