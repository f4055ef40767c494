import { type OciDeps, runRuntime } from './oci-deps.ts';
import { type ContainerRef, OciError } from './oci-runtime.ts';
import type { OciResources } from './oci-spec.ts';
import { failureText } from './runtime-output.ts';

/** Does not touch device rules: a change of limits must not change device access. */
export async function updateContainer(
  { id, bundle }: ContainerRef,
  { devices: _, ...limits }: OciResources,
  name: string,
  deps: OciDeps,
  signal: AbortSignal,
): Promise<void> {
  // Passed as a file: crun opens its standard input by name, which fails for a pipe of Node.js (a socket).
  const file = `${bundle}/update-${name}.json`;
  try {
    await deps.fs.writeFile(file, JSON.stringify(limits));
    const finished = await runRuntime(deps, ['update', '--resources', file, id], signal);
    if (finished.exitCode !== 0) throw new OciError(failureText(finished));
  } finally {
    await deps.fs.remove(file);
  }
}
