import type { OciSpec } from '../oci/oci-spec.ts';
import { buildContainerSpec } from './container-spec.ts';
import { createFactSources, type FactSources, gatherFacts } from './gather-facts.ts';
import type { SpecRequest } from './spec-request.ts';

/** Created once for all containers. */
export function createSpecBuilder(
  deps: Omit<FactSources, 'accounts'>,
): (request: SpecRequest, signal: AbortSignal) => Promise<OciSpec> {
  const sources = createFactSources(deps);
  return async (request, signal) => {
    signal.throwIfAborted();
    return buildContainerSpec(request, await gatherFacts(request, sources));
  };
}
