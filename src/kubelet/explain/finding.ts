/**
 * Kinds of findings, the most important first: the running step, what blocks the whole pod, what blocks the start of a
 * container, how a container ended, why it is not ready, and notes.
 */
export const FINDING_KINDS = ['step', 'pod', 'blocked', 'ended', 'unready', 'note'] as const;

/** One reason why a pod is in its state. */
export interface Finding {
  readonly kind: (typeof FINDING_KINDS)[number];
  /** Completes `hello is not ready: …`. */
  readonly summary: string;
  /** Whole sentences, in reading order. */
  readonly sentences: readonly string[];
}

/** Sorts findings by kind; those of one kind keep their order. */
export function byImportance(findings: readonly Finding[]): Finding[] {
  return FINDING_KINDS.flatMap((kind) => findings.filter((finding) => finding.kind === kind));
}
