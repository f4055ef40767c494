/** Randomness. Seeded in tests, so that a run can be repeated. */
export interface Random {
  /** Uniform in [0, 1). For jitter. */
  fraction(): number;

  /** Unpredictable bytes. For identifiers and tokens. */
  bytes(length: number): Uint8Array;
}
