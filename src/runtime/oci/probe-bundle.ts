import { fnv1a32 } from '../../base/go/fnv.ts';
import { createOciRuntime } from './create-oci-runtime.ts';
import type { OciDeps } from './oci-deps.ts';
import type { HandlerFeatures, MonitoredContainer, OciRuntime } from './oci-runtime.ts';
import type { OciSpec } from './oci-spec.ts';
import { PROBE_HOST_ID, probeSpec } from './probe-spec.ts';

export interface ProbeProgramDeps extends OciDeps {
  readonly pauseProgram: string;
  /** Parent directory of the probe's bundle. */
  readonly folder: string;
}

const REMOVE_TIMEOUT_MS = 20_000;

/** Creates a probe container, calls `inspect`, and removes the container in any case. */
export async function withProbeContainer<T>(
  deps: ProbeProgramDeps,
  features: HandlerFeatures,
  inspect: (runtime: OciRuntime, container: MonitoredContainer) => Promise<T>,
  change: (spec: OciSpec) => OciSpec = (spec) => spec,
): Promise<T> {
  const { program, folder, fs, clock } = deps;
  // A fixed ID, so that the next probe removes what a killed one left; it differs for each agent's directories.
  const id = `probe-${program.slice(program.lastIndexOf('/') + 1)}-${fnv1a32(folder).toString(16)}`;
  const container = { id, bundle: `${folder}/${id}`, terminal: false, stdin: false, stdinOnce: false };
  const { crun: _, ...plainDeps } = deps;
  const remove = async (): Promise<void> => {
    await createOciRuntime(plainDeps).remove(container, clock.deadline(REMOVE_TIMEOUT_MS));
    await fs.removeTree(container.bundle);
  };
  try {
    await remove();
    await writeBundle(container, features, change, deps);
    return await inspect(createOciRuntime(deps), container);
  } finally {
    await remove();
  }
}

async function writeBundle(
  { id, bundle }: MonitoredContainer,
  features: HandlerFeatures,
  change: (spec: OciSpec) => OciSpec,
  { fs, pauseProgram }: ProbeProgramDeps,
): Promise<void> {
  const [rootfs, source] = [`${bundle}/rootfs`, `${bundle}/source`];
  await fs.makeDirectory(bundle, 0o711); // root of a user namespace must be able to enter
  await Promise.all([fs.makeDirectory(rootfs, 0o755), fs.makeDirectory(source, 0o755)]);
  if (features.userNamespaces || features.idmappedMounts) await fs.changeOwner(rootfs, PROBE_HOST_ID, PROBE_HOST_ID);
  const spec = probeSpec({ rootfs, source, pauseProgram, cgroupsPath: `/nodelet-${id}` }, features);
  await fs.writeFile(`${bundle}/config.json`, JSON.stringify(change(spec)));
}
