import { type OciDeps, runRuntime } from './oci-deps.ts';
import { type MonitoredName, OciError } from './oci-runtime.ts';
import type { OciResources } from './oci-spec.ts';
import { faultOf } from './runtime-words.ts';

/** Devices stay as they are: a change of limits must not touch who may open what. */
export async function updateContainer(
  { id, bundle }: MonitoredName,
  { devices: _, ...limits }: OciResources,
  name: string,
  deps: OciDeps,
  signal: AbortSignal,
): Promise<void> {
  // By a file: crun opens its standard input by name, which a pipe of Node.js (a socket) does not allow.
  const file = `${bundle}/update-${name}.json`;
  try {
    await deps.fs.writeFile(file, JSON.stringify(limits));
    const finished = await runRuntime(deps, ['update', '--resources', file, id], signal);
    if (finished.exitCode !== 0) throw new OciError(faultOf(finished));
  } finally {
    await deps.fs.remove(file);
  }
}
