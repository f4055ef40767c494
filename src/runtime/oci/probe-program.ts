import { fnv1a32 } from '../../base/fnv.ts';
import { textOf } from '../../base/text-of.ts';
import type { FileSystem } from '../../host/file-system.ts';
import { createOciRuntime } from './create-oci-runtime.ts';
import type { OciDeps } from './oci-deps.ts';
import type { HandlerFeatures, OciRuntime } from './oci-runtime.ts';
import { IDMAPPED_PATH, PROBE_HOST_ID, probeSpec, READ_ONLY_PATH } from './probe-spec.ts';

export type ProbeResult =
  | { readonly works: true; readonly features: HandlerFeatures }
  | { readonly works: false; readonly reason: string };

export interface ProbeProgramDeps extends OciDeps {
  readonly pauseProgram: string;
  /** Where its bundle may be made. */
  readonly folder: string;
}

const REMOVE_MS = 20_000;
const NOTHING: HandlerFeatures = { recursiveReadOnlyMounts: false, userNamespaces: false, idmappedMounts: false };
const ALL: HandlerFeatures = { recursiveReadOnlyMounts: true, userNamespaces: true, idmappedMounts: true };

/**
 * What a runtime can do here is seen by having it do that: one container with all of it, and only when that fails one for
 * each. A runtime that takes no notice of what it does not know is found out, too: the container is looked at.
 */
export async function probeProgram(deps: ProbeProgramDeps, signal: AbortSignal): Promise<ProbeResult> {
  const all = await tried(deps, ALL, signal);
  if (all.works) return all;
  const plain = await tried(deps, NOTHING, signal);
  if (!plain.works) return plain;
  const has = async (feature: keyof HandlerFeatures): Promise<boolean> => {
    const result = await tried(deps, { ...NOTHING, [feature]: true }, signal);
    return result.works && result.features[feature];
  };
  // One after the other: they share a name.
  const recursiveReadOnlyMounts = await has('recursiveReadOnlyMounts');
  const userNamespaces = await has('userNamespaces');
  const idmappedMounts = userNamespaces && (await has('idmappedMounts'));
  return { works: true, features: { recursiveReadOnlyMounts, userNamespaces, idmappedMounts } };
}

async function tried(deps: ProbeProgramDeps, features: HandlerFeatures, signal: AbortSignal): Promise<ProbeResult> {
  const { program, folder, fs, clock } = deps;
  // The same each time, so that what a killed probe left is removed by the next; another for each agent's folders.
  const id = `probe-${program.slice(program.lastIndexOf('/') + 1)}-${fnv1a32(folder).toString(16)}`;
  const name = { id, bundle: `${folder}/${id}` };
  const runtime = createOciRuntime(deps);
  const remove = async (): Promise<void> => {
    await runtime.remove(name, clock.deadline(REMOVE_MS));
    await fs.removeTree(name.bundle);
  };
  try {
    await remove();
    await writeBundle(name.bundle, id, features, deps);
    return { works: true, features: await observed(runtime, name, fs, signal) };
  } catch (error) {
    signal.throwIfAborted();
    return { works: false, reason: textOf(error) };
  } finally {
    await remove();
  }
}

async function writeBundle(
  bundle: string,
  id: string,
  features: HandlerFeatures,
  { fs, pauseProgram }: ProbeProgramDeps,
): Promise<void> {
  const [rootfs, source] = [`${bundle}/rootfs`, `${bundle}/source`];
  await fs.makeDirectory(bundle, 0o711); // root of a user namespace has to reach the folder inside
  await Promise.all([fs.makeDirectory(rootfs, 0o755), fs.makeDirectory(source, 0o755)]);
  if (features.userNamespaces || features.idmappedMounts) await fs.changeOwner(rootfs, PROBE_HOST_ID, PROBE_HOST_ID);
  const spec = probeSpec({ rootfs, source, pauseProgram, cgroupsPath: `/nodelet-${id}` }, features);
  await fs.writeFile(`${bundle}/config.json`, JSON.stringify(spec));
}

/** What a container that runs really has. */
async function observed(
  runtime: OciRuntime,
  name: { readonly id: string; readonly bundle: string },
  fs: FileSystem,
  signal: AbortSignal,
): Promise<HandlerFeatures> {
  const { pid } = await runtime.start({ ...name, terminal: false, stdin: false, stdinOnce: false }, signal);
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
