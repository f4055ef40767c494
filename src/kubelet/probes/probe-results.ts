/** The kinds of probes, in the order in which they come to matter. */
export type ProbeKind = 'startup' | 'readiness' | 'liveness';

export type ProbeResult = 'success' | 'failure' | 'unknown';

/**
 * What probes found, by container id: the result of an older container of the same name never counts for a newer one.
 * The probes write it; everybody else reads.
 */
export interface ProbeResults {
  /** `undefined` until the probe has run for this container, and for containers without such a probe. */
  result(kind: ProbeKind, containerId: string): ProbeResult | undefined;
}
