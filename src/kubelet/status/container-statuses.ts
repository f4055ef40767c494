import type {
  Container,
  ContainerState,
  ContainerStatus,
  Pod,
  PodStatus,
  ResourceStatus,
} from '../../api/generated/core-v1.ts';
import { type ContainerKind, containerStatus } from './container-status.ts';
import type { PodStatusView } from './pod-status-view.ts';
import { mustRestartAll } from './restart-all-containers.ts';

/** Largest sum of the termination messages of one pod, in bytes. */
const MESSAGES_LIMIT = 12 * 1024;

export interface ContainerStatuses {
  /** In the order of the spec. */
  readonly init: readonly ContainerStatus[];
  /** Sorted by name, as the ephemeral ones. */
  readonly regular: readonly ContainerStatus[];
  readonly ephemeral: readonly ContainerStatus[];
}

/** Computes a status for every container of the spec, created or not. */
export function containerStatuses(view: PodStatusView, previous: PodStatus | undefined): ContainerStatuses {
  const { initContainers = [], containers, ephemeralContainers = [] } = view.pod.spec;
  const restartingAll = mustRestartAll(view.pod, view.observed, previous);
  const convert = (kind: ContainerKind, specs: readonly Container[], shown: readonly ContainerStatus[] = []) =>
    specs.map((container) => {
      const isIt = ({ name }: { readonly name: string }) => name === container.name;
      const instances = view.observed?.containers.filter(isIt) ?? [];
      const given = { container, kind, previous: shown.find(isIt), instances, restartingAll, pod: view };
      const status = containerStatus(given);
      const health = kind === 'regular' ? view.resourceHealth?.(container.name) : undefined;
      return withShortMessages(withResourceHealth(status, health), messageLimit(view.pod));
    });
  return {
    init: convert('init', initContainers, previous?.initContainerStatuses),
    regular: convert('regular', containers, previous?.containerStatuses).sort(byName),
    ephemeral: convert('ephemeral', ephemeralContainers, previous?.ephemeralContainerStatuses).sort(byName),
  };
}

/** A status that is carried over may have the health of before. */
function withResourceHealth(
  { allocatedResourcesStatus: _, ...status }: ContainerStatus,
  health: readonly ResourceStatus[] = [],
): ContainerStatus {
  return health.length === 0 ? status : { ...status, allocatedResourcesStatus: health };
}

function messageLimit({ spec }: Pod): number {
  const lists = [spec.containers, spec.initContainers ?? [], spec.ephemeralContainers ?? []];
  return Math.floor(MESSAGES_LIMIT / Math.max(1, lists.flat().length));
}

function withShortMessages(status: ContainerStatus, bytes: number): ContainerStatus {
  return {
    ...status,
    state: withShortMessage(status.state ?? {}, bytes),
    lastState: withShortMessage(status.lastState ?? {}, bytes),
  };
}

function withShortMessage(state: ContainerState, bytes: number): ContainerState {
  const message = state.terminated?.message;
  if (!state.terminated || message === undefined || Buffer.byteLength(message) <= bytes) return state;
  return { ...state, terminated: { ...state.terminated, message: firstBytes(message, bytes) } };
}

/** Cuts at a character boundary: half a character would become a replacement character. */
function firstBytes(text: string, bytes: number): string {
  const { read } = new TextEncoder().encodeInto(text, new Uint8Array(bytes));
  return text.slice(0, read);
}

function byName(a: ContainerStatus, b: ContainerStatus): number {
  return a.name < b.name ? -1 : 1;
}
