import { type StartedExec, startExec } from './exec-files.ts';
import type { OciDeps } from './oci-deps.ts';
import { type ContainerRef, type ExecResult, type ExecSync, ExecTimeoutError, OciError } from './oci-runtime.ts';
import { failureText } from './runtime-output.ts';

type OutputLimits = Pick<ExecSync, 'maxOutputBytes' | 'maxStreamBytes'>;

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
    const result = await collectResult(started, exec, end).catch((cause: unknown) => {
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

async function collectResult({ program }: StartedExec, limits: OutputLimits, end: AbortSignal): Promise<ExecResult> {
  const { promise: unkilled, reject } = Promise.withResolvers<never>();
  const onEnd = (): void => void program.kill().catch(reject);
  end.addEventListener('abort', onEnd, { once: true });
  if (end.aborted) onEnd();
  try {
    const { maxOutputBytes, maxStreamBytes = maxOutputBytes } = limits;
    const shared = { room: maxOutputBytes };
    const ended = Promise.all([
      program.exited,
      firstBytes(program.stdout, maxStreamBytes, shared),
      firstBytes(program.stderr, maxStreamBytes, shared),
    ]);
    const [exitCode, stdout, stderr] = await Promise.race([ended, unkilled]);
    return { exitCode, stdout, stderr };
  } finally {
    end.removeEventListener('abort', onEnd);
  }
}

/**
 * Reads to the end, so that the process is never blocked, and keeps the beginning. Copies: a chunk of a few bytes may keep a
 * large buffer in memory.
 */
async function firstBytes(
  chunks: AsyncIterable<Uint8Array>,
  maxBytes: number,
  shared: { room: number },
): Promise<Uint8Array> {
  let buffer = Buffer.alloc(0);
  let length = 0;
  for await (const chunk of chunks) {
    const size = Math.min(chunk.byteLength, maxBytes - length, shared.room);
    if (size <= 0) continue;
    if (length + size > buffer.byteLength) {
      const larger = Buffer.allocUnsafeSlow(Math.min(maxBytes, Math.max(2 * buffer.byteLength, length + size)));
      buffer.copy(larger, 0, 0, length);
      buffer = larger;
    }
    buffer.set(chunk.subarray(0, size), length);
    length += size;
    shared.room -= size;
  }
  return buffer.subarray(0, length);
}
