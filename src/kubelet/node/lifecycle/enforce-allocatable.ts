import { errorText } from '../../../base/error-text.ts';
import type { Quantity } from '../../../base/quantity.ts';
import type { Cgroups, CgroupValues } from '../../../host/cgroups.ts';
import type { Clock } from '../../../host/clock.ts';
import type { FileSystem } from '../../../host/file-system.ts';
import { cpuShares } from '../../resources/cpu-units.ts';
import { hugePageAmounts } from '../../resources/huge-pages.ts';
import type { NodeEvents } from '../node-event.ts';
import type { NodeSettings } from '../node-settings.ts';
import { processLimit } from '../signals/read-signals.ts';
import { enforcedAmounts, type MachineResources } from '../status/node-resources.ts';

const RETRY_MS = 60_000;

export type EnforcementSettings = Pick<
  NodeSettings,
  | 'podsCgroup'
  | 'enforcesPods'
  | 'systemReserved'
  | 'kubeReserved'
  | 'reservedCpus'
  | 'thresholds'
  | 'maxPods'
  | 'podsPerCore'
  | 'hasEphemeralStorage'
>;

export interface EnforcementDeps {
  readonly cgroups: Pick<Cgroups, 'create' | 'update'>;
  readonly fs: Pick<FileSystem, 'readText'>;
  readonly clock: Clock;
  readonly events: NodeEvents;
}

/**
 * Limits all pods together to the node's allocatable resources. Retried while the kernel rejects the limits because the
 * pods use more.
 */
export async function enforceAllocatable(
  settings: EnforcementSettings,
  machine: MachineResources,
  { cgroups, fs, clock, events }: EnforcementDeps,
  signal: AbortSignal,
): Promise<void> {
  const { podsCgroup } = settings;
  const values = podsLimits(settings, machine, await processLimit(fs).catch(() => undefined));
  while (!signal.aborted) {
    try {
      await cgroups.create(podsCgroup);
      await cgroups.update(podsCgroup, values);
      events.record('Normal', 'NodeAllocatableEnforced', 'Updated Node Allocatable limit across pods');
      return;
    } catch (error) {
      const message = `Failed to update Node Allocatable Limits ${JSON.stringify(podsCgroup)}: ${errorText(error)}`;
      events.record('Warning', 'FailedNodeAllocatableEnforcement', message);
      await clock.sleep(RETRY_MS, signal).catch(() => undefined);
    }
  }
}

/** Without enforcement the limits are the machine's capacity: the kernel's defaults are too low. */
export function podsLimits(
  settings: EnforcementSettings,
  machine: MachineResources,
  processes: number | undefined,
): CgroupValues {
  const { enforcesPods } = settings;
  const nothing = { systemReserved: new Map(), kubeReserved: new Map(), reservedCpus: 0 };
  const reserved = { ...settings, ...(!enforcesPods && nothing), reservesThresholds: false };
  const amounts = enforcedAmounts(machine, reserved);
  const memory = amounts.get('memory');
  const cpu = amounts.get('cpu');
  const kept = (list: ReadonlyMap<string, Quantity>): number => Number(list.get('pid')?.value() ?? 0n);
  return {
    ...(memory && { memoryLimitBytes: Number(memory.value()) }),
    ...(cpu && { cpuShares: Number(cpuShares(cpu.milliValue())) }),
    ...(processes !== undefined && {
      pidsLimit: Math.max(0, processes - kept(reserved.systemReserved) - kept(reserved.kubeReserved)),
    }),
    hugePageLimits: Object.fromEntries([...hugePageAmounts(amounts)].map(([size, bytes]) => [size, Number(bytes)])),
  };
}
