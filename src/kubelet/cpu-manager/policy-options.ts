import { byCodePoint } from '../../base/code-point-order.ts';
import { errorText } from '../../base/error-text.ts';
import { ExpectedError } from '../../base/expected-error.ts';
import { parseGoBool } from '../../base/go/go-numbers.ts';
import { goQuote } from '../../base/go/go-quote.ts';
import type { CpuTopology } from './cpu-details.ts';

/** Options of the static policy. */
export interface StaticPolicyOptions {
  /** Only whole cores are assigned. */
  readonly fullPhysicalCpusOnly: boolean;
  /** Requests that need several NUMA nodes are spread evenly over them. */
  readonly distributeCpusAcrossNuma: boolean;
  /** CPUs are aligned by sockets instead of NUMA nodes. */
  readonly alignBySocket: boolean;
  /** Threads of different cores are preferred. */
  readonly distributeCpusAcrossCores: boolean;
  /** No container runs on the reserved CPUs. */
  readonly strictCpuReservation: boolean;
  /** CPUs that share a last-level cache are preferred. */
  readonly preferAlignByUncoreCache: boolean;
}

export interface PolicyGates {
  /** The feature gate CPUManagerPolicyAlphaOptions. */
  readonly alphaOptions: boolean;
  /** The feature gate CPUManagerPolicyBetaOptions. */
  readonly betaOptions: boolean;
}

/** The CPU manager cannot work with this configuration or state; the message is kubelet's. The agent does not start. */
export class CpuManagerError extends ExpectedError {
  override readonly name = 'CpuManagerError';
}

const FULL_PCPUS_ONLY = 'full-pcpus-only';
const DISTRIBUTE_ACROSS_NUMA = 'distribute-cpus-across-numa';
const ALIGN_BY_SOCKET = 'align-by-socket';
const DISTRIBUTE_ACROSS_CORES = 'distribute-cpus-across-cores';
const STRICT_RESERVATION = 'strict-cpu-reservation';
const PREFER_UNCORE_CACHE = 'prefer-align-cpus-by-uncorecache';

const ALPHA: ReadonlySet<string> = new Set([ALIGN_BY_SOCKET, DISTRIBUTE_ACROSS_CORES]);
const BETA: ReadonlySet<string> = new Set([DISTRIBUTE_ACROSS_NUMA]);
const STABLE: ReadonlySet<string> = new Set([FULL_PCPUS_ONLY, STRICT_RESERVATION, PREFER_UNCORE_CACHE]);

/** Options that kubelet does not allow together. */
const CONFLICTS = [
  [FULL_PCPUS_ONLY, DISTRIBUTE_ACROSS_CORES],
  [DISTRIBUTE_ACROSS_NUMA, DISTRIBUTE_ACROSS_CORES],
  [PREFER_UNCORE_CACHE, DISTRIBUTE_ACROSS_CORES],
  [PREFER_UNCORE_CACHE, DISTRIBUTE_ACROSS_NUMA],
] as const;

/** Parses `cpuManagerPolicyOptions` of the static policy. Throws a `CpuManagerError`. */
export function parseStaticPolicyOptions(
  options: Readonly<Record<string, string>>,
  gates: PolicyGates,
): StaticPolicyOptions {
  const on = new Set<string>();
  for (const name of Object.keys(options).sort(byCodePoint)) {
    checkAvailable(name, gates);
    if (parseOption(name, options[name] ?? '')) on.add(name);
  }
  for (const [one, other] of CONFLICTS) {
    if (!on.has(one) || !on.has(other)) continue;
    throw new CpuManagerError(`static policy options ${one} and ${other} can not be used at the same time`);
  }
  return {
    fullPhysicalCpusOnly: on.has(FULL_PCPUS_ONLY),
    distributeCpusAcrossNuma: on.has(DISTRIBUTE_ACROSS_NUMA),
    alignBySocket: on.has(ALIGN_BY_SOCKET),
    distributeCpusAcrossCores: on.has(DISTRIBUTE_ACROSS_CORES),
    strictCpuReservation: on.has(STRICT_RESERVATION),
    preferAlignByUncoreCache: on.has(PREFER_UNCORE_CACHE),
  };
}

/** Throws a `CpuManagerError` for options that this machine or the topology manager's policy excludes. */
export function checkMachine(
  { alignBySocket }: StaticPolicyOptions,
  topology: CpuTopology,
  topologyManagerPolicy: string,
): void {
  if (!alignBySocket) return;
  if (topologyManagerPolicy === 'single-numa-node') {
    throw new CpuManagerError(
      `Topolgy manager single-numa-node policy is incompatible with CPUManager ${ALIGN_BY_SOCKET} policy option`,
    );
  }
  if (topology.socketCount > topology.numaNodes.size) {
    throw new CpuManagerError(
      'Align by socket is not compatible with hardware where number of sockets are more than number of NUMA',
    );
  }
}

/** What is wrong with the options of a policy without regard to the machine; in kubelet's words. */
export function policyOptionsError(
  policy: string,
  options: Readonly<Record<string, string>>,
  gates: PolicyGates,
): string | undefined {
  if (policy === 'none' && Object.keys(options).length > 0) {
    const pairs = Object.keys(options).sort(byCodePoint);
    const text = pairs.map((name) => `${name}:${options[name]}`).join(' ');
    return `new none policy error: None policy: received unsupported options=map[${text}]`;
  }
  if (policy !== 'static') return undefined;
  try {
    parseStaticPolicyOptions(options, gates);
    return undefined;
  } catch (error) {
    if (error instanceof CpuManagerError) return `new static policy error: ${error.message}`;
    throw error;
  }
}

function checkAvailable(option: string, { alphaOptions, betaOptions }: PolicyGates): void {
  const name = goQuote(option);
  if (!ALPHA.has(option) && !BETA.has(option) && !STABLE.has(option)) {
    throw new CpuManagerError(`unknown CPU Manager Policy option: ${name}`);
  }
  if (ALPHA.has(option) && !alphaOptions) {
    throw new CpuManagerError(`CPU Manager Policy Alpha-level Options not enabled, but option ${name} provided`);
  }
  if (BETA.has(option) && !betaOptions) {
    throw new CpuManagerError(`CPU Manager Policy Beta-level Options not enabled, but option ${name} provided`);
  }
}

function parseOption(name: string, value: string): boolean {
  try {
    return parseGoBool(value);
  } catch (error) {
    throw new CpuManagerError(`bad value for option ${goQuote(name)}: ${errorText(error)}`, { cause: error });
  }
}
