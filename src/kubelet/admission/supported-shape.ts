/** Returns whether a value is honoured. Called only for values that are set. */
export type ValueRule = (value: unknown) => boolean;

/** The honoured part of a value of type `T`: a predicate, a rule for each list element, some keys or some fields. */
export type Rule<T> =
  | ValueRule
  | (T extends readonly (infer Element)[]
      ? { readonly each: Rule<NonNullable<Element>> }
      : string extends keyof T
        ? { readonly keys: ValueRule }
        : T extends object
          ? Shape<T>
          : never);

/** The honoured fields; every other field that is set is unsupported. */
export type Shape<T> = { readonly [Field in keyof T]?: Rule<NonNullable<T[Field]>> };

/** Every value is honoured, or the field has no meaning on a node. */
export const anything: ValueRule = () => true;

export function only(...values: readonly unknown[]): ValueRule {
  return (value) => values.includes(value);
}

/** Returns the paths of all fields that are set and not honoured, in object order: `spec.volumes[0].nfs`. */
export function unsupportedPaths<T>(value: T, rule: Rule<T>, path: string): string[] {
  return [...walk(value, rule as AnyRule, path)];
}

// The code below uses untyped rules: `Rule` has already checked them against the API types.
type AnyRule = ValueRule | { readonly [field: string]: AnyRule };

function* walk(value: unknown, rule: AnyRule | undefined, path: string): Generator<string> {
  if (!isSet(value)) return;
  if (rule === undefined) {
    yield path;
  } else if (typeof rule === 'function') {
    if (!rule(value)) yield formatValue(path, value);
  } else if (Array.isArray(value)) {
    for (const [index, item] of value.entries()) yield* walk(item, rule['each'], `${path}[${index}]`);
  } else if (typeof rule['keys'] === 'function') {
    for (const key of Object.keys(value)) if (!rule['keys'](key)) yield `${path}[${JSON.stringify(key)}]`;
  } else {
    for (const [field, item] of Object.entries(value)) yield* walk(item, ownRule(rule, field), `${path}.${field}`);
  }
}

/** Ignores inherited properties: a field may be named `constructor`. */
function ownRule(shape: Readonly<Record<string, AnyRule>>, field: string): AnyRule | undefined {
  return Object.hasOwn(shape, field) ? shape[field] : undefined;
}

/** Empty strings and lists count as unset; an empty object counts as set (`emptyDir: {}`). */
function isSet(value: unknown): value is NonNullable<unknown> {
  return Array.isArray(value) ? value.length > 0 : value !== undefined && value !== null && value !== '';
}

function formatValue(path: string, value: unknown): string {
  return typeof value === 'object' ? path : `${path}: ${JSON.stringify(value)}`;
}
