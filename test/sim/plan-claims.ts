import type { Container, Pod } from '../../src/api/generated/core-v1.ts';
import { Draw } from './draw.ts';

/** More than half of the memory of the node: no two such pods fit. */
const OVER_HALF = '9Gi';
/** More than the node has. */
export const TOO_LARGE = '17Gi';
const FIRST_HOST_PORT = 20_000;

interface Put {
  readonly do: 'put';
  readonly key: string;
  readonly pod: Pod;
}

/**
 * Gives some pod names a host port of their own, and one name more than half of the node's memory, in every version. Each
 * version fits beside the pods of all other names, and never beside another pod of its own name. A few versions of the
 * large pod request more memory than the node has.
 */
export function addClaims<T extends { readonly do: string }>(seed: number, actions: readonly T[]): (action: T) => T {
  const keys = actions.filter(isPut).map(({ key }) => key);
  const names = [...new Set(keys)];
  const replaced = names.filter((name) => keys.indexOf(name) !== keys.lastIndexOf(name));
  const large = replaced[new Draw(seed, 'large').int(0, replaced.length - 1)];
  return (action) => {
    if (!isPut(action)) return action;
    const { key, pod } = action;
    const memory = key === large ? memoryOf(seed, pod) : undefined;
    const hostPort = new Draw(seed, `port ${key}`).chance(0.25) ? FIRST_HOST_PORT + names.indexOf(key) : undefined;
    return { ...action, pod: withClaims(pod, memory, hostPort) };
  };
}

/** The node has no room for the pod, whatever else runs there. */
export function exceedsNode({ spec }: Pod): boolean {
  const isTooLarge = ({ resources }: Container): boolean => resources?.requests?.['memory'] === TOO_LARGE;
  return spec.nodeSelector !== undefined || spec.containers.some(isTooLarge);
}

/** The same for each version of a pod of the plan: requests are immutable at the API server. */
function memoryOf(seed: number, { metadata }: Pod): string {
  return new Draw(seed, `memory ${metadata.uid}`).chance(0.15) ? TOO_LARGE : OVER_HALF;
}

function withClaims(pod: Pod, memory: string | undefined, hostPort: number | undefined): Pod {
  const [first, ...others] = pod.spec.containers;
  if (!first) return pod;
  const claiming: Container = {
    ...first,
    ...(memory !== undefined && { resources: { requests: { ...first.resources?.requests, memory } } }),
    ...(hostPort !== undefined && { ports: [{ containerPort: hostPort, hostPort }] }),
  };
  return { ...pod, spec: { ...pod.spec, containers: [claiming, ...others] } };
}

function isPut<T extends { readonly do: string }>(action: T): action is T & Put {
  return action.do === 'put';
}
