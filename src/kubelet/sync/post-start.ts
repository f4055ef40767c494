import { type HookSubject, runHook } from '../hooks/run-hook.ts';
import { containerFieldPath } from '../pod/container-field-path.ts';
import { deletionGracePeriod } from '../pod/grace-period.ts';
import { PodError } from '../pod/pod-error.ts';
import { type StopDeps, stopContainer } from './stop-pod.ts';

/**
 * Runs the postStart hook of a container that has just started, if any. When it fails the container is killed and a
 * `PodError` is thrown. The hook's output goes to the status only, not to an event: it may contain secrets.
 */
export async function runPostStart(subject: HookSubject, deps: StopDeps, signal: AbortSignal): Promise<void> {
  const { pod, container } = subject;
  const postStart = container.lifecycle?.postStart;
  if (!postStart) return;
  try {
    await deps.timeline.during(pod.metadata.uid, 'postStart hook', container.name, async () => {
      const outcome = await runHook(postStart, subject, deps.hooks, signal);
      if (outcome.kind === 'failed') throw new PodError('PostStartHookError', outcome.message, { silent: true });
    });
  } catch (error) {
    if (error instanceof PodError) await killContainer(subject, deps, signal);
    throw error;
  }
}

/** As in kubelet, a container that cannot be killed keeps running; the timeline shows the error. */
async function killContainer(
  { pod, container: { name }, containerId }: HookSubject,
  deps: StopDeps,
  signal: AbortSignal,
): Promise<void> {
  const fieldPath = containerFieldPath(pod, name);
  deps.events.record(pod, 'Warning', 'FailedPostStartHook', 'PostStartHook failed', fieldPath);
  const ending = {
    message: 'FailedPostStartHook',
    cause: 'postStartHookFailed',
    graceSeconds: deletionGracePeriod(pod),
  } as const;
  await stopContainer(pod, { id: containerId, name }, ending, deps, signal).catch(() => signal.throwIfAborted());
}
