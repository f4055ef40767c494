import type { RuntimeService } from '../../cri/services.ts';

/**
 * Runs a command in a container to its end; without a timeout it may run indefinitely. Rejects with a `CriError`, or with
 * the signal's reason.
 */
export type ExecInContainer = (
  containerId: string,
  command: readonly string[],
  timeoutMs: number | undefined,
  signal: AbortSignal,
) => Promise<ExecResult>;

export interface ExecResult {
  readonly exitCode: number;
  readonly stdout: Uint8Array;
  readonly stderr: Uint8Array;
}

/** Uses CRI's ExecSync. */
export function execInContainer(runtime: RuntimeService): ExecInContainer {
  return async (containerId, command, timeoutMs, signal) => {
    // CRI has whole seconds, and 0 means no timeout.
    const timeout = timeoutMs === undefined ? 0n : BigInt(Math.max(1, Math.ceil(timeoutMs / 1000)));
    return runtime.execSync({ containerId, cmd: [...command], timeout }, signal);
  };
}
