import type { FileSystem } from '../../host/file-system.ts';
import type { OciSpec } from '../oci/oci-spec.ts';
import type { RuntimeSettings } from '../settings/runtime-settings.ts';
import { containerSpec } from './container-spec.ts';
import { factSources, gatherFacts } from './gather-facts.ts';
import type { SpecRequest } from './spec-request.ts';

/** Made once for all containers. */
export function specBuilder(
  settings: Pick<RuntimeSettings, 'seccompProfilePath' | 'cdiSpecDirs'>,
  fs: FileSystem,
): (request: SpecRequest, signal: AbortSignal) => Promise<OciSpec> {
  const sources = factSources(settings, fs);
  return async (request, signal) => {
    signal.throwIfAborted();
    return containerSpec(request, await gatherFacts(request, sources));
  };
}
