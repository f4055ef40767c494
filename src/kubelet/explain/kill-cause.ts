/** Why the agent itself ends a container that is to run, by what its `Killing` event says. */
const KILL_CAUSES: ReadonlyArray<readonly [mark: string, cause: string]> = [
  ['failed liveness probe', 'it failed its liveness probe'],
  ['failed startup probe', 'it failed its startup probe'],
  ['FailedPostStartHook', 'its postStart hook failed'],
  ['definition changed', 'its definition changed'],
  ['resize requires restart', 'it gets other resources, and its resizePolicy wants a restart for them'],
];

/** `it failed its liveness probe`; `undefined` for a container that ends with its pod. */
export function killCause(eventMessage: string): string | undefined {
  return KILL_CAUSES.find(([mark]) => eventMessage.includes(mark))?.[1];
}
