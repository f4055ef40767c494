/** As `containerRuntimeEndpoint`: the runtime of this program. */
export const EMBEDDED = 'embedded';
