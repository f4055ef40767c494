import { type StartedExec, startExec } from './exec-files.ts';
import type { OciDeps } from './oci-deps.ts';
import { type ContainerRef, type ExecResult, type ExecSync, ExecTimeoutError, OciError } from './oci-runtime.ts';
import { failureText } from './runtime-output.ts';

/** Runs a process in the container to its end. */
export async function execSync(
  container: ContainerRef,
  exec: ExecSync,
  name: string,
  deps: OciDeps,
  signal: AbortSignal,
): Promise<ExecResult> {
  signal.throwIfAborted();
  const { timeoutMs } = exec;
  const timeout = timeoutMs === undefined ? undefined : deps.clock.deadline(timeoutMs);
  const end = timeout === undefined ? signal : AbortSignal.any([signal, timeout]);
  const started = await startExec(container, exec.process, name, deps, 'outputOnly');
  try {
    const timeoutError = (options?: ErrorOptions): Error =>
      new ExecTimeoutError(`timeout ${(timeoutMs ?? 0) / 1000}s exceeded`, options);
    const result = await collectResult(started, exec.maxOutputBytes, end).catch((cause: unknown) => {
      signal.throwIfAborted();
      throw timeout?.aborted ? timeoutError({ cause }) : cause;
    });
    signal.throwIfAborted();
    if (timeout?.aborted) throw timeoutError();
    // Without a PID file, the output is an error of the runtime itself.
    const ran = result.exitCode === 0 || (await deps.fs.stat(started.files.pid)) !== undefined;
    if (!ran) throw new OciError(failureText(result));
    return result;
  } finally {
    await started.removeFiles();
  }
}

async function collectResult({ program }: StartedExec, maxBytes: number, end: AbortSignal): Promise<ExecResult> {
  const { promise: unkilled, reject } = Promise.withResolvers<never>();
  const onEnd = (): void => void program.kill().catch(reject);
  end.addEventListener('abort', onEnd, { once: true });
  if (end.aborted) onEnd();
  try {
    const ended = Promise.all([
      program.exited,
      firstBytes(program.stdout, maxBytes),
      firstBytes(program.stderr, maxBytes),
    ]);
    const [exitCode, stdout, stderr] = await Promise.race([ended, unkilled]);
    return { exitCode, stdout, stderr };
  } finally {
    end.removeEventListener('abort', onEnd);
  }
}

/** Reads to the end, so that the process is never blocked, and keeps the beginning. */
async function firstBytes(chunks: AsyncIterable<Uint8Array>, maxBytes: number): Promise<Uint8Array> {
  const collected: Uint8Array[] = [];
  let room = maxBytes;
  for await (const chunk of chunks) {
    if (room <= 0) continue;
    collected.push(chunk.subarray(0, room));
    room -= chunk.byteLength;
  }
  return Buffer.concat(collected);
}
