import { errorText } from '../../base/error-text.ts';
import { goQuote } from '../../base/go/go-quote.ts';
import type { Quantity } from '../../base/quantity.ts';
import type { CgroupDriver, Cgroups, CgroupValues, MissingCgroup } from '../../host/cgroups.ts';
import { type CgroupName, cgroupPath } from '../resources/cgroup-names.ts';
import { cpuShares } from '../resources/cpu-units.ts';

/** What of a reservation is enforced: all of it, or the resources that a process can be throttled in (CPU). */
type Enforcement = 'all' | 'compressible';

/** An existing cgroup whose processes are limited to their reservation. */
export interface ReservedCgroup {
  readonly of: 'system' | 'kube';
  /** As configured: `systemReservedCgroup`, `kubeReservedCgroup`. */
  readonly cgroup: string;
  readonly enforcement: Enforcement;
  readonly reserved: ReadonlyMap<string, Quantity>;
}

export interface ReservedDeps {
  readonly cgroups: Pick<Cgroups, 'missing' | 'update'>;
  readonly cgroupDriver: CgroupDriver;
  /** The feature gate MemoryQoS: the reserved memory is protected too. */
  readonly protectsMemory: boolean;
  /** The sizes of the machine's huge pages (`2MB`), which no reserved cgroup may use. */
  readonly hugePageSizes: readonly string[];
}

/** In the order in which kubelet enforces them. */
export function reservedCgroups(
  enforced: readonly string[],
  cgroups: { readonly system: string; readonly kube: string },
  reserved: Readonly<Record<ReservedCgroup['of'], ReadonlyMap<string, Quantity>>>,
): readonly ReservedCgroup[] {
  const kinds = [
    ['system', 'all', 'system-reserved'],
    ['kube', 'all', 'kube-reserved'],
    ['system', 'compressible', 'system-reserved-compressible'],
    ['kube', 'compressible', 'kube-reserved-compressible'],
  ] as const;
  return kinds.flatMap(([of, enforcement, key]) =>
    enforced.includes(key) ? [{ of, cgroup: cgroups[of], enforcement, reserved: reserved[of] }] : [],
  );
}

/** Limits the cgroup to its reservation and returns the message of the event. Rejects with kubelet's message. */
export async function enforceReserved(each: ReservedCgroup, deps: ReservedDeps): Promise<string> {
  try {
    await limit(each, deps);
  } catch (cause) {
    const kind = each.of === 'system' ? 'System' : 'Kube';
    const name = each.enforcement === 'all' ? `${kind} Reserved` : `${kind} Reserved Compressible`;
    throw new Error(`Failed to enforce ${name} Cgroup Limits on ${goQuote(each.cgroup)}: ${errorText(cause)}`, {
      cause,
    });
  }
  return `Updated limits on ${each.of} reserved cgroup ${each.cgroup}`;
}

async function limit(reserved: ReservedCgroup, { cgroups, cgroupDriver, ...machine }: ReservedDeps): Promise<void> {
  const name = cgroupName(reserved.cgroup, cgroupDriver);
  const path = cgroupPath(name, { cgroupRoot: '/', cgroupDriver });
  const missing = await cgroups.missing(path);
  if (missing) throw new Error(missingText(name, missing));
  await cgroups.update(path, reservedValues(reserved, machine));
}

/** A slice's name contains the names of all its parents, so the folders before it do not count. */
export function cgroupName(configured: string, cgroupDriver: CgroupDriver): CgroupName {
  if (cgroupDriver === 'cgroupfs') return configured.split('/').filter((part) => part !== '');
  const slice = configured.split('/').findLast((part) => part !== '') ?? '';
  return slice
    .replace(/\.slice$/, '')
    .split('-')
    .map((part) => part.replaceAll('_', '-'));
}

export function reservedValues(
  { reserved, enforcement }: ReservedCgroup,
  { protectsMemory, hugePageSizes }: Pick<ReservedDeps, 'protectsMemory' | 'hugePageSizes'>,
): CgroupValues {
  const cpu = reserved.get('cpu');
  const always = {
    ...(cpu && { cpuShares: Number(cpuShares(cpu.milliValue())) }),
    hugePageLimits: Object.fromEntries(hugePageSizes.map((size) => [size, 0])),
  };
  if (enforcement === 'compressible') return always;
  const [memory, processes] = [reserved.get('memory'), reserved.get('pid')];
  const bytes = Number(memory?.value() ?? 0n);
  return {
    ...(memory && { memoryLimitBytes: bytes, ...(protectsMemory && { memoryMinBytes: bytes }) }),
    ...always,
    ...(processes && { pidsLimit: Number(processes.value()) }),
  };
}

/** Go prints the name as a list of strings. */
function missingText(name: CgroupName, missing: MissingCgroup): string {
  const quoted = `[${name.map(goQuote).join(' ')}]`;
  switch (missing.kind) {
    case 'paths':
      return `cgroup ${quoted} has some missing paths: ${missing.names.join(', ')}`;
    case 'controllers':
      return `cgroup ${quoted} has some missing controllers: ${missing.names.join(', ')}`;
    case 'unreadable':
      return `could not read controllers for cgroup ${quoted}: open ${missing.file}: no such file or directory`;
  }
}
