import type { OciSeccomp, OciSpec } from './oci-spec.ts';
import { type ProbeProgramDeps, withProbeContainer } from './probe-bundle.ts';
import { NO_FEATURES } from './probe-spec.ts';

const PROBE_TIMEOUT_MS = 5_000;
const BPF_RETURN = 0x06;
const SECCOMP_RET_KILL_PROCESS = 0x8000_0000;
const KILL_ALL = instruction(BPF_RETURN, SECCOMP_RET_KILL_PROCESS);
const KILLED_BY_SIGSYS = 128 + 31;
/** A program that uses this section instead of the compiled filter ends with a different exit code. */
const DENY_EXEC: OciSeccomp = {
  defaultAction: 'SCMP_ACT_ALLOW',
  syscalls: [{ names: ['execve', 'execveat'], action: 'SCMP_ACT_ERRNO' }],
};

/**
 * Whether a program supports the fast paths: starts a container by a byte in its FIFO, prefers a compiled filter over
 * the seccomp section, and leaves nothing of an exited container that this runtime does not remove itself. Probed with
 * a container whose compiled filter kills it at its first system call.
 */
export async function isCrun(deps: ProbeProgramDeps, signal: AbortSignal): Promise<boolean> {
  const filters = { get: async () => KILL_ALL, put: async () => {} };
  const deadline = AbortSignal.any([signal, deps.clock.deadline(PROBE_TIMEOUT_MS)]);
  try {
    return await withProbeContainer(
      { ...deps, crun: { filters } },
      NO_FEATURES,
      async (runtime, container) => {
        await runtime.start(container, deadline);
        const end = await runtime.wait(container, deadline);
        await runtime.remove(container, deadline);
        return end.kind === 'exited' && end.exitCode === KILLED_BY_SIGSYS;
      },
      withFilter,
    );
  } catch {
    signal.throwIfAborted();
    return false; // it works without the fast paths
  }
}

function withFilter(spec: OciSpec): OciSpec {
  // With this limit the kernel writes no core dump, whatever its core pattern.
  const rlimits = [{ type: 'RLIMIT_CORE', soft: 1, hard: 1 }];
  return { ...spec, process: { ...spec.process, rlimits }, linux: { ...spec.linux, seccomp: DENY_EXEC } };
}

/** Returns a struct sock_filter in native byte order. */
function instruction(code: number, value: number): Uint8Array {
  const bytes = new ArrayBuffer(8);
  new Uint16Array(bytes).set([code]);
  new Uint32Array(bytes).set([value], 1);
  return new Uint8Array(bytes);
}
