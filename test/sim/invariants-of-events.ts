import type { ContainerRecord } from './pod-records.ts';
import type { World } from './world.ts';

/** Events are written sequentially. */
const WRITE_MS = 60_000;
/** A pod with more containers, or one that started late, may have exhausted the event rate limit. */
const FEW = 2;
const SOON_MS = 60_000;

/** The first start of a container has an event, unless writes of events failed. */
export async function checkEvents({ context, cluster, agentProcess }: World): Promise<void> {
  const { clusterState, now, agentStartedAt, fail } = context;
  if (!agentProcess || context.sources === 1) return;
  const isDue = ({ startedAt = Number.POSITIVE_INFINITY, needsStartEvent }: ContainerRecord): boolean =>
    (needsStartEvent ?? false) &&
    startedAt > Math.max(agentStartedAt(), clusterState.eventFaultUntil) &&
    now() - startedAt > WRITE_MS;
  const due = [...context.records.pods.values()].flatMap((pod) => {
    const [first] = pod.containers;
    const waitedMs = (first?.startedAt ?? 0) - (pod.reported?.at ?? 0);
    const isPlain = pod.containers.length <= FEW && waitedMs >= 0 && waitedMs < SOON_MS;
    return first && isPlain && isDue(first) ? [[pod, first] as const] : [];
  });
  if (due.length === 0) return;
  const events = await cluster.events();
  for (const [pod, container] of due) {
    container.needsStartEvent = false;
    const isOf = (uid: string | undefined, path: string | undefined): boolean =>
      uid === pod.uid && (path?.includes(`{${container.name}}`) ?? false);
    const event = events.find(
      ({ reason, involvedObject }) => reason === 'Started' && isOf(involvedObject.uid, involvedObject.fieldPath),
    );
    if (!event) fail(29, `there is no Started event of ${pod.uid}/${container.name}`);
  }
}
