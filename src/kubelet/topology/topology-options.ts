import { errorText } from '../../base/error-text.ts';
import { ExpectedError } from '../../base/expected-error.ts';
import { parseGoBool } from '../../base/go/go-numbers.ts';

/** kubelet's `defaultMaxAllowableNUMANodes`: the number of sets of nodes doubles with each node. */
const MAX_NUMA_NODES = 8;
const PREFER_CLOSEST = 'prefer-closest-numa-nodes';
const MAX_ALLOWABLE = 'max-allowable-numa-nodes';

export const TOPOLOGY_POLICIES = ['none', 'best-effort', 'restricted', 'single-numa-node'] as const;
export type TopologyPolicyName = (typeof TOPOLOGY_POLICIES)[number];
export type TopologyScope = 'container' | 'pod';

/** `topologyManagerPolicy`, `topologyManagerScope` and `topologyManagerPolicyOptions`. */
export interface TopologySettings {
  readonly policy: TopologyPolicyName;
  readonly scope: TopologyScope;
  readonly options: Readonly<Record<string, string>>;
}

export interface TopologyOptions {
  /** Of as many nodes, those with the smallest average distance. */
  readonly preferClosest: boolean;
  readonly maxNumaNodes: number;
}

/** The topology manager or the memory manager cannot work with the configuration: the agent does not start, as kubelet. */
export class PlacementConfigError extends ExpectedError {
  override readonly name = 'PlacementConfigError';
}

/** Throws a `PlacementConfigError` with kubelet's message. */
export function topologyOptions(texts: Readonly<Record<string, string>>): TopologyOptions {
  let options: TopologyOptions = { preferClosest: false, maxNumaNodes: MAX_NUMA_NODES };
  for (const [name, value] of Object.entries(texts)) {
    if (name === PREFER_CLOSEST) options = { ...options, preferClosest: readBool(name, value) };
    else if (name === MAX_ALLOWABLE) options = { ...options, maxNumaNodes: readNodeCount(name, value) };
    else throw new PlacementConfigError(`unknown Topology Manager Policy option: ${JSON.stringify(name)}`);
  }
  return options;
}

/** What to log: hints of more nodes than kubelet recommends take long. */
export function nodeCountWarning({ maxNumaNodes }: TopologyOptions): string | undefined {
  if (maxNumaNodes <= MAX_NUMA_NODES) return undefined;
  return `the value of ${MAX_ALLOWABLE} is more than the default recommended value ${MAX_NUMA_NODES}: ${maxNumaNodes}`;
}

function readBool(name: string, value: string): boolean {
  try {
    return parseGoBool(value);
  } catch (error) {
    throw new PlacementConfigError(`bad value for option ${JSON.stringify(name)}: ${errorText(error)}`);
  }
}

function readNodeCount(name: string, value: string): number {
  if (!/^[+-]?[0-9]+$/.test(value)) {
    const parsing = `strconv.Atoi: parsing ${JSON.stringify(value)}: invalid syntax`;
    throw new PlacementConfigError(`unable to convert policy option to integer ${JSON.stringify(name)}: ${parsing}`);
  }
  const count = Number(value);
  if (count >= MAX_NUMA_NODES) return count;
  throw new PlacementConfigError(
    `the minimum value of ${JSON.stringify(name)} should not be less than ${MAX_NUMA_NODES}`,
  );
}
