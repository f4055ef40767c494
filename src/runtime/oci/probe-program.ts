import { errorText } from '../../base/error-text.ts';
import type { FileSystem } from '../../host/file-system.ts';
import type { HandlerFeatures, Monitored, OciRuntime } from './oci-runtime.ts';
import { inProbe, type ProbeProgramDeps } from './probe-bundle.ts';
import { isCrun } from './probe-crun.ts';
import { ALL_FEATURES, IDMAPPED_PATH, NO_FEATURES, PROBE_HOST_ID, READ_ONLY_PATH } from './probe-spec.ts';

export type ProbeResult =
  | {
      readonly works: true;
      readonly features: HandlerFeatures;
      /** As `OciDeps.crun` has it. */
      readonly isCrun: boolean;
    }
  | { readonly works: false; readonly reason: string };

type Tried =
  | { readonly works: true; readonly features: HandlerFeatures }
  | { readonly works: false; readonly reason: string };

/** What a program can do here is seen by having it do that. */
export async function probeProgram(deps: ProbeProgramDeps, signal: AbortSignal): Promise<ProbeResult> {
  const result = await probeFeatures(deps, signal);
  return result.works ? { ...result, isCrun: await isCrun(deps, signal) } : result;
}

/**
 * One container with all of it, and only when that fails one for each. A runtime that takes no notice of what it does not
 * know is found out, too: the container is looked at.
 */
async function probeFeatures(deps: ProbeProgramDeps, signal: AbortSignal): Promise<Tried> {
  const all = await tried(deps, ALL_FEATURES, signal);
  if (all.works) return all;
  const plain = await tried(deps, NO_FEATURES, signal);
  if (!plain.works) return plain;
  const has = async (feature: keyof HandlerFeatures): Promise<boolean> => {
    const result = await tried(deps, { ...NO_FEATURES, [feature]: true }, signal);
    return result.works && result.features[feature];
  };
  // One after the other: they share a name.
  const recursiveReadOnlyMounts = await has('recursiveReadOnlyMounts');
  const userNamespaces = await has('userNamespaces');
  const idmappedMounts = userNamespaces && (await has('idmappedMounts'));
  return { works: true, features: { recursiveReadOnlyMounts, userNamespaces, idmappedMounts } };
}

async function tried(deps: ProbeProgramDeps, features: HandlerFeatures, signal: AbortSignal): Promise<Tried> {
  try {
    const look = (runtime: OciRuntime, container: Monitored) => observed(runtime, container, deps.fs, signal);
    return { works: true, features: await inProbe(deps, features, look) };
  } catch (error) {
    signal.throwIfAborted();
    return { works: false, reason: errorText(error) };
  }
}

/** What a container that runs really has. */
async function observed(
  runtime: OciRuntime,
  container: Monitored,
  fs: FileSystem,
  signal: AbortSignal,
): Promise<HandlerFeatures> {
  const { pid } = await runtime.start(container, signal);
  const [mounts, ids, idmapped] = await Promise.all([
    fs.readText(`/proc/${pid}/mountinfo`),
    fs.readText(`/proc/${pid}/uid_map`),
    fs.stat(`/proc/${pid}/root${IDMAPPED_PATH}`),
  ]);
  return {
    recursiveReadOnlyMounts: new RegExp(` ${READ_ONLY_PATH} ro\\b`).test(mounts),
    userNamespaces: ids.trim().split(/\s+/)[1] === String(PROBE_HOST_ID),
    idmappedMounts: idmapped?.uid === PROBE_HOST_ID,
  };
}
