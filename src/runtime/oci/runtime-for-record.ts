import type { OciRuntime, OciRuntimes, RuntimeIdentity } from './oci-runtime.ts';

/** The parts of a sandbox or container record that select its runtime. */
export interface RuntimeOfRecord {
  readonly runtimeHandler: string;
  /** Absent in records of older versions. */
  readonly oci?: RuntimeIdentity;
}

/**
 * The runtime of the record's handler, which may be another program by now, as long as it has the state of the record's
 * container; else the recorded one. Without a recorded one the default replaces a handler that is no longer configured.
 */
export function runtimeForRecord(runtimes: OciRuntimes, { runtimeHandler, oci }: RuntimeOfRecord): OciRuntime {
  const current = runtimes.handler(runtimeHandler);
  if (oci !== undefined) return current?.stateRoot === oci.stateRoot ? current : runtimes.at(oci);
  const runtime = current ?? runtimes.handler('');
  if (runtime) return runtime;
  throw new Error(`no runtime for ${JSON.stringify(runtimeHandler)} is configured`);
}

export function identityOf({ program, stateRoot }: OciRuntime): RuntimeIdentity {
  return { program, stateRoot };
}
