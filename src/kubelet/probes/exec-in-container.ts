import type { RuntimeService } from '../../cri/services.ts';

/**
 * Runs a command in a container to its end; without a time limit it may take for ever. Rejects with a `CriError`, or
 * with the signal's reason.
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

/** By CRI's ExecSync. */
export function execInContainer(runtime: RuntimeService): ExecInContainer {
  return async (containerId, command, timeoutMs, signal) => {
    // CRI counts in whole seconds, and 0 means for ever.
    const timeout = timeoutMs === undefined ? 0n : BigInt(Math.max(1, Math.ceil(timeoutMs / 1000)));
    return runtime.execSync({ containerId, cmd: [...command], timeout }, signal);
  };
}
