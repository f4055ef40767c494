import { CpuSet } from '../../base/cpu-set.ts';
import type { MachineTopology } from '../topology/machine-topology.ts';
import { CpuTopology } from './cpu-details.ts';
import { CpuManagerError, type PolicyGates, parseStaticPolicyOptions, policyOptionsError } from './policy-options.ts';
import { StaticPolicy } from './static-policy.ts';

export interface CpuManagerSettings {
  readonly policy: 'none' | 'static';
  readonly options: Readonly<Record<string, string>>;
  readonly gates: PolicyGates;
  readonly reconcilePeriodMs: number;
  /** `reservedSystemCPUs`; empty: as many CPUs are chosen as are reserved. */
  readonly reservedSystemCpus: string;
  /** `systemReserved` and `kubeReserved` together, in thousandths of a CPU; not used with `reservedSystemCpus`. */
  readonly reservedMilliCpus: bigint;
  /** The policy of the topology manager: `none`, `best-effort`, … */
  readonly topologyManagerPolicy: string;
  /** The feature gate DisableCPUQuotaWithExclusiveCPUs. */
  readonly disablesQuota: boolean;
}

/** `undefined` for the none policy. Throws a `CpuManagerError` if kubelet would not start. */
export function createPolicy(settings: CpuManagerSettings, machine: MachineTopology): StaticPolicy | undefined {
  const { policy, options, gates, topologyManagerPolicy } = settings;
  const topology = new CpuTopology(machine.cpus);
  const reservedCpus = checkReserved(settings.reservedSystemCpus, topology);
  const message = policyOptionsError(policy, options, gates);
  if (policy === 'none') {
    if (message !== undefined) throw new CpuManagerError(message);
    return undefined;
  }
  const reservedCount = reservedCpus.isEmpty ? Number((settings.reservedMilliCpus + 999n) / 1000n) : reservedCpus.size;
  if (reservedCount === 0) {
    throw new CpuManagerError('[cpumanager] unable to determine reserved CPU resources for static policy');
  }
  if (message !== undefined) throw new CpuManagerError(message);
  const config = {
    options: parseStaticPolicyOptions(options, gates),
    reservedCpus,
    reservedCount,
    topologyManagerPolicy,
  };
  try {
    return new StaticPolicy(topology, config);
  } catch (error) {
    if (!(error instanceof CpuManagerError)) throw error;
    throw new CpuManagerError(`new static policy error: ${error.message}`, { cause: error });
  }
}

function checkReserved(text: string, { allCpus }: CpuTopology): CpuSet {
  const reserved = CpuSet.parse(text);
  if (reserved.isSubsetOf(allCpus)) return reserved;
  throw new CpuManagerError(`reserved-cpus: ${text} is not a subset of online-cpus: ${allCpus}`);
}
