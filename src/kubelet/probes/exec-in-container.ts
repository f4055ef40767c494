import type { ExecSyncHint } from '../../cri/exec-sync-hint.ts';
import type { ExecSyncRequest } from '../../cri/generated/runtime-v1.ts';
import type { RuntimeService } from '../../cri/services.ts';
import { MAX_OUTPUT_BYTES } from './probe-handler.ts';

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

/** At most `MAX_OUTPUT_BYTES` of each stream. */
export interface ExecResult {
  readonly exitCode: number;
  readonly stdout: Uint8Array;
  readonly stderr: Uint8Array;
}

/** Uses CRI's ExecSync. */
export function execInContainer(runtime: Pick<RuntimeService, 'execSync'>): ExecInContainer {
  return async (containerId, command, timeoutMs, signal) => {
    // CRI has whole seconds, and 0 means no timeout.
    const timeout = timeoutMs === undefined ? 0n : BigInt(Math.max(1, Math.ceil(timeoutMs / 1000)));
    const hint: ExecSyncHint = { maxStreamBytes: MAX_OUTPUT_BYTES };
    const request: ExecSyncRequest & ExecSyncHint = { containerId, cmd: [...command], timeout, ...hint };
    const { exitCode, stdout, stderr } = await runtime.execSync(request, signal);
    return { exitCode, stdout: firstBytes(stdout), stderr: firstBytes(stderr) };
  };
}

/** A copy, so that the response of a runtime (up to 16 MiB) is not kept with it. */
function firstBytes(data: Uint8Array): Uint8Array {
  return data.slice(0, MAX_OUTPUT_BYTES);
}
