import { errorText } from '../../base/error-text.ts';
import type { FileSystem } from '../../host/file-system.ts';
import type { HandlerFeatures, MonitoredContainer, OciRuntime } from './oci-runtime.ts';
import { type ProbeProgramDeps, withProbeContainer } from './probe-bundle.ts';
import { isCrun } from './probe-crun.ts';
import { ALL_FEATURES, IDMAPPED_PATH, NO_FEATURES, PROBE_HOST_ID, READ_ONLY_PATH } from './probe-spec.ts';

export type ProbeResult =
  | {
      readonly works: true;
      readonly features: HandlerFeatures;
      /** As for `OciDeps.crun`. */
      readonly isCrun: boolean;
    }
  | { readonly works: false; readonly reason: string };

type Attempt =
  | { readonly works: true; readonly features: HandlerFeatures }
  | { readonly works: false; readonly reason: string };

/** Finds out what a program supports by running containers. */
export async function probeProgram(deps: ProbeProgramDeps, signal: AbortSignal): Promise<ProbeResult> {
  const result = await probeFeatures(deps, signal);
  return result.works ? { ...result, isCrun: await isCrun(deps, signal) } : result;
}

/**
 * Probes all features with one container, and each separately only if that fails. The container is inspected, because a
 * runtime may silently ignore what it does not support.
 */
async function probeFeatures(deps: ProbeProgramDeps, signal: AbortSignal): Promise<Attempt> {
  const all = await tryFeatures(deps, ALL_FEATURES, signal);
  if (all.works) return all;
  const plain = await tryFeatures(deps, NO_FEATURES, signal);
  if (!plain.works) return plain;
  const has = async (feature: keyof HandlerFeatures): Promise<boolean> => {
    const result = await tryFeatures(deps, { ...NO_FEATURES, [feature]: true }, signal);
    return result.works && result.features[feature];
  };
  // Serially: they share an ID.
  const recursiveReadOnlyMounts = await has('recursiveReadOnlyMounts');
  const userNamespaces = await has('userNamespaces');
  const idmappedMounts = userNamespaces && (await has('idmappedMounts'));
  return { works: true, features: { recursiveReadOnlyMounts, userNamespaces, idmappedMounts } };
}

async function tryFeatures(deps: ProbeProgramDeps, features: HandlerFeatures, signal: AbortSignal): Promise<Attempt> {
  try {
    const inspect = (runtime: OciRuntime, container: MonitoredContainer) =>
      inspectFeatures(runtime, container, deps.fs, signal);
    return { works: true, features: await withProbeContainer(deps, features, inspect) };
  } catch (error) {
    signal.throwIfAborted();
    return { works: false, reason: errorText(error) };
  }
}

/** Returns the features that a running container really has. */
async function inspectFeatures(
  runtime: OciRuntime,
  container: MonitoredContainer,
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
