import type { AllocatedResources } from './allocated-resources.ts';

type Allocatable = ReturnType<AllocatedResources['allocatable']>;

/** What one manager of the machine's resources knows of the assignments. */
export type AllocatedPart = Partial<Omit<AllocatedResources, 'allocatable'>> & {
  allocatable?(): Partial<Allocatable>;
};

/** The assignments of all managers. A resource without a manager is not assigned to any container. */
export function composeAllocated(managers: readonly AllocatedPart[]): AllocatedResources {
  const all = <T>(read: (manager: AllocatedPart) => readonly T[] | undefined): readonly T[] =>
    managers.flatMap((manager) => read(manager) ?? []);
  return {
    cpus: (uid, container) => all((manager) => manager.cpus?.(uid, container)),
    memory: (uid, container) => all((manager) => manager.memory?.(uid, container)),
    devices: (uid, container) => all((manager) => manager.devices?.(uid, container)),
    claims: (pod, container) => all((manager) => manager.claims?.(pod, container)),
    allocatable: () => ({
      cpus: all((manager) => manager.allocatable?.().cpus),
      memory: all((manager) => manager.allocatable?.().memory),
      devices: all((manager) => manager.allocatable?.().devices),
    }),
  };
}
