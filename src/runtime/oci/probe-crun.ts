import type { OciSeccomp, OciSpec } from './oci-spec.ts';
import { inProbe, type ProbeProgramDeps } from './probe-bundle.ts';
import { NO_FEATURES } from './probe-spec.ts';

const PROBE_MS = 5_000;
const BPF_RETURN = 0x06;
const SECCOMP_RET_KILL_PROCESS = 0x8000_0000;
const KILL_ALL = instruction(BPF_RETURN, SECCOMP_RET_KILL_PROCESS);
const KILLED_BY_SIGSYS = 128 + 31;
/** Whoever takes this instead of the compiled one ends, too, but otherwise. */
const NO_PROGRAMS: OciSeccomp = {
  defaultAction: 'SCMP_ACT_ALLOW',
  syscalls: [{ names: ['execve', 'execveat'], action: 'SCMP_ACT_ERRNO' }],
};

/**
 * Whether a program starts a container by a byte in its FIFO, takes a compiled filter before the section that it was
 * made of, and keeps no more of a container that has ended than we remove ourselves: a container whose compiled filter
 * allows nothing is killed for its first system call.
 */
export async function isCrun(deps: ProbeProgramDeps, signal: AbortSignal): Promise<boolean> {
  const filters = { ready: async () => KILL_ALL, keep: async () => {} };
  const enough = AbortSignal.any([signal, deps.clock.deadline(PROBE_MS)]);
  try {
    return await inProbe(
      { ...deps, crun: { filters } },
      NO_FEATURES,
      async (runtime, container) => {
        await runtime.start(container, enough);
        const end = await runtime.ended(container, enough);
        await runtime.remove(container, enough);
        return end.kind === 'exited' && end.exitCode === KILLED_BY_SIGSYS;
      },
      withFilter,
    );
  } catch {
    signal.throwIfAborted();
    return false; // it works in its own way
  }
}

function withFilter(spec: OciSpec): OciSpec {
  // The one limit with which the kernel leaves no core, whoever collects them.
  const rlimits = [{ type: 'RLIMIT_CORE', soft: 1, hard: 1 }];
  return { ...spec, process: { ...spec.process, rlimits }, linux: { ...spec.linux, seccomp: NO_PROGRAMS } };
}

/** A struct sock_filter, in the machine's order of bytes. */
function instruction(code: number, value: number): Uint8Array {
  const bytes = new ArrayBuffer(8);
  new Uint16Array(bytes).set([code]);
  new Uint32Array(bytes).set([value], 1);
  return new Uint8Array(bytes);
}
