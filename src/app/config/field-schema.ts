/** The schema of a configuration file: structs by name, and the type of each of their fields. */

export type ScalarKind =
  | 'bool'
  | 'int32'
  | 'int64'
  | 'uint32'
  | 'float64'
  | 'string'
  | 'duration'
  | 'timeOrDuration'
  | 'quantity';

export type FieldKind<StructName extends string = string> =
  | { readonly kind: ScalarKind }
  | { readonly kind: 'list' | 'map'; readonly of: FieldKind<StructName> }
  | { readonly kind: 'struct'; readonly name: StructName };

export interface FieldSchema<StructName extends string = string> {
  readonly type: FieldKind<StructName>;
  /** Zero is a value; otherwise zero means absence, and the default applies. */
  readonly explicitZero: boolean;
}

export type StructSchema = ReadonlyMap<string, FieldSchema>;
