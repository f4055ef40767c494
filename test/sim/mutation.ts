/** A deliberate defect in the agent that the simulator must find. */
export interface Mutation {
  readonly name: string;
  readonly changes: readonly Change[];
}

export interface Change {
  /** Relative to the root of the project. */
  readonly file: string;
  /** A text that the file contains exactly once. */
  readonly from: string;
  readonly to: string;
}

export function mutation(name: string, file: string, from: string, to: string): Mutation {
  return { name, changes: [change(file, from, to)] };
}

export function change(file: string, from: string, to: string): Change {
  return { file, from, to };
}
