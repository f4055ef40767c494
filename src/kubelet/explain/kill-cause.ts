import type { PodEvent } from '../events/pod-events.ts';
import type { KillCause } from '../pod/pod-cause.ts';

/** Why the agent kills a container that is to run; `undefined` where the container ends with its pod. */
const KILL_TEXTS: Readonly<Record<KillCause, string | undefined>> = {
  livenessFailed: 'it failed its liveness probe',
  startupFailed: 'it failed its startup probe',
  postStartHookFailed: 'its postStart hook failed',
  definitionChanged: 'its definition changed',
  resized: 'it gets other resources, and its resizePolicy wants a restart for them',
  unknownState: undefined,
  restartingAll: undefined,
  podStopping: undefined,
};

/** The cause of a `Killing` event; `undefined` for other events. */
export function killCause(event: PodEvent | undefined): KillCause | undefined {
  return event?.cause?.kind === 'kill' ? event.cause.cause : undefined;
}

/** `it failed its liveness probe`; `undefined` for a container that ends with its pod, and for other events. */
export function killText(event: PodEvent | undefined): string | undefined {
  const cause = killCause(event);
  return cause && KILL_TEXTS[cause];
}

/** The probe whose failure made the agent kill a container. */
export function killingProbe(event: PodEvent | undefined): 'liveness' | 'startup' | undefined {
  const cause = killCause(event);
  if (cause === 'livenessFailed') return 'liveness';
  return cause === 'startupFailed' ? 'startup' : undefined;
}
