/**
 * What a finding is about, the most telling first: what is done right now, what keeps the whole pod, what keeps a
 * container from starting, how one ended, why one is not ready, and what is good to know besides.
 */
export const FINDING_KINDS = ['step', 'pod', 'blocked', 'ended', 'unready', 'note'] as const;

/** One reason why a pod is not where it should be. */
export interface Finding {
  readonly kind: (typeof FINDING_KINDS)[number];
  /** Completes `hello is not ready: …`. */
  readonly summary: string;
  /** Whole sentences, to be read in order. */
  readonly sentences: readonly string[];
}

/** By how much they tell; equals stay in order. */
export function byImportance(findings: readonly Finding[]): Finding[] {
  return FINDING_KINDS.flatMap((kind) => findings.filter((finding) => finding.kind === kind));
}
