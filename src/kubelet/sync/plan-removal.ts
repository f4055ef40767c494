import type { Container } from '../../api/generated/core-v1.ts';
import type { ObservedContainer } from '../pod/observed-pod.ts';
import { restartsAllAfter } from '../pod/restart-rules.ts';
import type { ContainerRemoval, PodPlan } from './pod-plan.ts';
import type { PodView } from './pod-view.ts';

/**
 * Removes every container of the spec; ephemeral containers stay. Containers whose exit triggered the restart are
 * removed last: while one of them exists, the next sync knows that a restart is in progress.
 */
export function planRemoval({ spec, containers, older }: PodView): PodPlan {
  const observed = [...containers.values(), ...older];
  const of = (specs: readonly Container[], isTrigger: boolean): ContainerRemoval[] =>
    specs.flatMap((container) =>
      observed
        .filter((each) => each.name === container.name && hasTriggeredRestart(container, each) === isTrigger)
        .map(({ id, name, state }) => ({ id, name, stopFirst: state !== 'exited' })),
    );
  const { initContainers: inits = [], containers: mains } = spec;
  const groups = [of(mains, false), of(inits, false), of(mains, true), of(inits, true)];
  return { kind: 'removeAll', groups: groups.filter((group) => group.length > 0) };
}

function hasTriggeredRestart(container: Container, observed: ObservedContainer): boolean {
  return observed.state === 'exited' && restartsAllAfter(container, observed.exitCode);
}
