import type { OciProcess, OciSpec } from '../oci/oci-spec.ts';
import { execEnvironment } from './environment.ts';

/** A further process in a container: as its first one in all but the command and the terminal. */
export function execProcess(
  { process }: Pick<OciSpec, 'process'>,
  { cmd, tty }: { readonly cmd: readonly string[]; readonly tty: boolean },
): OciProcess {
  return { ...process, terminal: tty, args: cmd, env: execEnvironment(process.env, tty) };
}
