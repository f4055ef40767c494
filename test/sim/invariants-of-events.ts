import type { ContainerRecord, PodRecord } from './truth.ts';
import type { World } from './world.ts';

/** Events are written one after the other. */
const WRITE_MS = 60_000;
/** Of a pod that was long in coming, or of more containers, so much may have been told that this is one too many. */
const FEW = 2;
const SOON_MS = 60_000;

/** The first start of a container is told by an event, unless something was in the way of events. */
export async function checkEvents({ scene, cluster, life }: World): Promise<void> {
  const { book, now, bornAt, fail } = scene;
  if (!life || scene.sources === 1) return;
  const isDue = ({ startedAt = Number.POSITIVE_INFINITY, isToBeTold }: ContainerRecord): boolean =>
    (isToBeTold ?? false) && startedAt > Math.max(bornAt(), book.eventTroubleUntil) && now() - startedAt > WRITE_MS;
  const due = [...scene.truth.pods.values()].flatMap((pod) => {
    const [first] = pod.containers;
    const waitedMs = (first?.startedAt ?? 0) - (pod.told?.at ?? 0);
    const isPlain = pod.containers.length <= FEW && waitedMs >= 0 && waitedMs < SOON_MS;
    return first && isPlain && isDue(first) ? [[pod, first] as const] : [];
  });
  if (due.length === 0) return;
  const events = await cluster.events();
  for (const [pod, container] of due) {
    container.isToBeTold = false;
    const isOf = (uid: string | undefined, path: string | undefined): boolean =>
      uid === pod.uid && (path?.includes(`{${container.name}}`) ?? false);
    const told = events.find(
      ({ reason, involvedObject }) => reason === 'Started' && isOf(involvedObject.uid, involvedObject.fieldPath),
    );
    if (!told) fail(29, `no event tells that ${nameOf(pod, container)} was started`);
  }
}

function nameOf({ uid }: PodRecord, { name }: ContainerRecord): string {
  return `${uid}/${name}`;
}
