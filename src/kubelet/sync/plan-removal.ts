import type { Container } from '../../api/generated/core-v1.ts';
import type { ObservedContainer } from '../pod/observed-pod.ts';
import { restartsAllAfter } from '../pod/restart-rules.ts';
import type { ContainerRemoval, PodPlan } from './pod-plan.ts';
import type { PodView } from './pod-view.ts';

/**
 * Every container that the runtime has of the spec goes; ephemeral ones stay. Those whose end is the cause go last: as
 * long as one of them is there, whoever looks at the pod knows what is under way.
 */
export function planRemoval({ spec, containers, older }: PodView): PodPlan {
  const seen = [...containers.values(), ...older];
  const of = (specs: readonly Container[], isCause: boolean): ContainerRemoval[] =>
    specs.flatMap((container) =>
      seen
        .filter((each) => each.name === container.name && hasTriggeredRestart(container, each) === isCause)
        .map(({ id, name, state }) => ({ id, name, stopFirst: state !== 'exited' })),
    );
  const { initContainers: inits = [], containers: mains } = spec;
  const groups = [of(mains, false), of(inits, false), of(mains, true), of(inits, true)];
  return { kind: 'removeAll', groups: groups.filter((group) => group.length > 0) };
}

function hasTriggeredRestart(container: Container, seen: ObservedContainer): boolean {
  return seen.state === 'exited' && restartsAllAfter(container, seen.exitCode);
}
