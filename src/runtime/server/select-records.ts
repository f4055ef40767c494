import type { ContainerStatsFilter, PodSandboxStatsFilter } from '../../cri/generated/runtime-v1.ts';
import type { ContainerRecord } from '../store/container-record.ts';
import type { RecordStore } from '../store/record-store.ts';
import type { SandboxRecord } from '../store/sandbox-record.ts';

type View<R extends { readonly id: string }> = Pick<RecordStore<R>, 'all' | 'find'>;

export interface RecordViews {
  readonly sandboxes: View<SandboxRecord>;
  readonly containers: View<ContainerRecord>;
}

/** Containers that match a statistics filter, whose ids may be prefixes. Without containers being created. */
export function selectContainers(
  { containers, sandboxes }: RecordViews,
  filter: ContainerStatsFilter | undefined,
): readonly ContainerRecord[] {
  const created = [...containers.all.values()].filter(({ state }) => state.phase !== 'creating');
  if (!filter) return created;
  const { id, podSandboxId, labelSelector } = filter;
  const [container, sandbox] = [fullId(containers, id), fullId(sandboxes, podSandboxId)];
  return created.filter(
    (record) =>
      (container === '' || record.id === container) &&
      (sandbox === '' || record.sandboxId === sandbox) &&
      hasLabels(record.config.labels, labelSelector),
  );
}

/** Ready sandboxes that match a statistics filter. */
export function selectSandboxes(
  { sandboxes }: Pick<RecordViews, 'sandboxes'>,
  filter: PodSandboxStatsFilter | undefined,
): readonly SandboxRecord[] {
  const ready = [...sandboxes.all.values()].filter(({ state }) => state.phase === 'ready');
  if (!filter) return ready;
  const wanted = fullId(sandboxes, filter.id);
  return ready.filter(
    ({ id, config }) => (wanted === '' || id === wanted) && hasLabels(config.labels, filter.labelSelector),
  );
}

/** An id that is not found stays as it is, and matches nothing. */
function fullId<R extends { readonly id: string }>(store: View<R>, id: string): string {
  return id === '' ? '' : (store.find(id)?.id ?? id);
}

type Labels = Readonly<Record<string, string>>;

function hasLabels(labels: Labels, wanted: Labels): boolean {
  return Object.entries(wanted).every(([key, value]) => labels[key] === value);
}
