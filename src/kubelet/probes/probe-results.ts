/** The kinds of probes, in the order of their use. */
export type ProbeKind = 'startup' | 'readiness' | 'liveness';

export type ProbeResult = 'success' | 'failure' | 'unknown';

/**
 * Probe results by container id: the result of an older container of the same name never counts for a newer one. Only
 * `Probes` writes them.
 */
export interface ProbeResults {
  /** `undefined` before the first check, and for containers without such a probe. */
  result(kind: ProbeKind, containerId: string): ProbeResult | undefined;
}
