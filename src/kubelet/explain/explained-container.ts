import type { Container, ContainerStatus } from '../../api/generated/core-v1.ts';
import { isSidecar } from '../pod/restart-rules.ts';
import type { ContainerRole } from '../sync/pod-plan.ts';
import type { PodReport } from './agent-view.ts';

/** One container of an explained pod. */
export interface ExplainedContainer {
  readonly spec: Container;
  readonly role: ContainerRole;
  readonly status: ContainerStatus;
  /** `container web`, `sidecar proxy`, `init container migrate (2 of 3)`, `ephemeral container debug`. */
  readonly title: string;
  readonly report: PodReport;
  readonly nowMs: number;
}

/** All containers that have a status, in the order of their start; ephemeral ones last. */
export function explainedContainers(report: PodReport, nowMs: number): ExplainedContainer[] {
  const { spec } = report.pod;
  const { initContainerStatuses = [], containerStatuses = [], ephemeralContainerStatuses = [] } = report.status;
  const all = [...initContainerStatuses, ...containerStatuses, ...ephemeralContainerStatuses];
  const inits = spec.initContainers ?? [];
  const explain = (container: Container, role: ContainerRole, title: string): ExplainedContainer[] => {
    const status = all.find(({ name }) => name === container.name);
    return status ? [{ spec: container, role, status, title, report, nowMs }] : [];
  };
  return [
    ...inits.flatMap((init, at) => {
      const position = inits.length > 1 ? ` (${at + 1} of ${inits.length})` : '';
      return isSidecar(init)
        ? explain(init, 'sidecar', `sidecar ${init.name}`)
        : explain(init, 'init', `init container ${init.name}${position}`);
    }),
    ...spec.containers.flatMap((main) => explain(main, 'main', `container ${main.name}`)),
    ...(spec.ephemeralContainers ?? []).flatMap((ephemeral) =>
      explain(ephemeral, 'ephemeral', `ephemeral container ${ephemeral.name}`),
    ),
  ];
}

/** Whether an event is about this container. */
export function isEventOf({ fieldPath }: { readonly fieldPath: string | undefined }, name: string): boolean {
  return fieldPath?.endsWith(`{${name}}`) ?? false;
}
