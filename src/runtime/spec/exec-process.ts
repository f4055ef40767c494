import type { OciProcess, OciSpec } from '../oci/oci-spec.ts';
import { execEnvironment } from './environment.ts';

/** Returns the process of an exec: the container's, except for the command and the terminal. */
export function execProcess(
  { process }: Pick<OciSpec, 'process'>,
  { cmd, tty }: { readonly cmd: readonly string[]; readonly tty: boolean },
): OciProcess {
  return { ...process, terminal: tty, args: cmd, env: execEnvironment(process.env, tty) };
}
