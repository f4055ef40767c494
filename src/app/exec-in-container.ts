import { Buffer } from 'node:buffer';
import type { RuntimeService } from '../cri/services.ts';
import type { ProbesDeps } from '../kubelet/probes/probes.ts';

/** Runs a command in a container to its end, by CRI's ExecSync. */
export function execInContainer(runtime: RuntimeService): ProbesDeps['exec'] {
  return async (containerId, command, timeoutMs, signal) => {
    // CRI counts in whole seconds, and 0 means for ever.
    const timeout = BigInt(Math.max(1, Math.ceil(timeoutMs / 1000)));
    const { exitCode, stdout, stderr } = await runtime.execSync({ containerId, cmd: [...command], timeout }, signal);
    return { exitCode, stdout: Buffer.from(stdout), stderr: Buffer.from(stderr) };
  };
}
