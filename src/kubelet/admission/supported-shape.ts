/** Says whether a value is honoured. Reached only by values that are set. */
export type ValueRule = (value: unknown) => boolean;

/** What of a value of type `T` is honoured: all that a rule says, each element of a list, some keys or some fields. */
export type Rule<T> =
  | ValueRule
  | (T extends readonly (infer Element)[]
      ? { readonly each: Rule<NonNullable<Element>> }
      : string extends keyof T
        ? { readonly keys: ValueRule }
        : T extends object
          ? Shape<T>
          : never);

/** The fields that are honoured; any other field that is set is not. */
export type Shape<T> = { readonly [Field in keyof T]?: Rule<NonNullable<T[Field]>> };

/** Honoured whatever the value, or of no meaning to a node. */
export const anything: ValueRule = () => true;

export function only(...values: readonly unknown[]): ValueRule {
  return (value) => values.includes(value);
}

/** Paths of everything that is set and not honoured, in the order of the object: `spec.volumes[0].nfs`. */
export function unsupportedPaths<T>(value: T, rule: Rule<T>, path: string): string[] {
  return [...walk(value, rule as AnyRule, path)];
}

// Below here rules are seen without the types that they are about: `Rule` has checked them against the API's types.
type AnyRule = ValueRule | { readonly [field: string]: AnyRule };

function* walk(value: unknown, rule: AnyRule | undefined, path: string): Generator<string> {
  if (!isSet(value)) return;
  if (rule === undefined) {
    yield path;
  } else if (typeof rule === 'function') {
    if (!rule(value)) yield shown(path, value);
  } else if (Array.isArray(value)) {
    for (const [index, item] of value.entries()) yield* walk(item, rule['each'], `${path}[${index}]`);
  } else if (typeof rule['keys'] === 'function') {
    for (const key of Object.keys(value)) if (!rule['keys'](key)) yield `${path}[${JSON.stringify(key)}]`;
  } else {
    for (const [field, item] of Object.entries(value)) yield* walk(item, ownRule(rule, field), `${path}.${field}`);
  }
}

/** A field may be called `constructor`, which every object has. */
function ownRule(shape: Readonly<Record<string, AnyRule>>, field: string): AnyRule | undefined {
  return Object.hasOwn(shape, field) ? shape[field] : undefined;
}

/** Empty texts and lists say nothing; an empty object does (`emptyDir: {}`). */
function isSet(value: unknown): value is NonNullable<unknown> {
  return Array.isArray(value) ? value.length > 0 : value !== undefined && value !== null && value !== '';
}

function shown(path: string, value: unknown): string {
  return typeof value === 'object' ? path : `${path}: ${JSON.stringify(value)}`;
}
