import type { FileSystem } from '../../host/file-system.ts';
import type { OciSpec } from '../oci/oci-spec.ts';
import type { RuntimeSettings } from '../settings/runtime-settings.ts';
import { buildContainerSpec } from './container-spec.ts';
import { createFactSources, gatherFacts } from './gather-facts.ts';
import type { SpecRequest } from './spec-request.ts';

/** Created once for all containers. */
export function createSpecBuilder(
  settings: Pick<RuntimeSettings, 'cdiSpecDirs'>,
  fs: FileSystem,
): (request: SpecRequest, signal: AbortSignal) => Promise<OciSpec> {
  const sources = createFactSources(settings, fs);
  return async (request, signal) => {
    signal.throwIfAborted();
    return buildContainerSpec(request, await gatherFacts(request, sources));
  };
}
