import type { PodSandboxFilter } from '../../cri/generated/runtime-v1.ts';
import type { RuntimeService } from '../../cri/services.ts';
import { criSandboxState, sandboxMessage } from '../sandbox/sandbox-messages.ts';
import type { SandboxStore } from '../sandbox/sandbox-store.ts';
import type { SandboxRecord } from '../store/sandbox-record.ts';

/** Sandboxes being created are not listed. */
export function listPodSandbox(store: Pick<SandboxStore, 'all'>): RuntimeService['listPodSandbox'] {
  return async ({ filter }) => ({
    items: [...store.all.values()]
      .filter((record) => record.state.phase !== 'creating' && matches(record, filter))
      .map(sandboxMessage),
  });
}

function matches(record: SandboxRecord, filter: PodSandboxFilter | undefined): boolean {
  if (filter === undefined) return true;
  const { id, state, labelSelector } = filter;
  const { labels } = record.config;
  return (
    record.id.startsWith(id) &&
    (state === undefined || criSandboxState(record) === state.state) &&
    Object.entries(labelSelector).every(([key, value]) => labels[key] === value)
  );
}
