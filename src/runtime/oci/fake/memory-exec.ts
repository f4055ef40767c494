import type { Clock } from '../../../host/clock.ts';
import type { ExecStreams } from '../oci-runtime.ts';

/** A scripted exec. */
export interface MemoryExec {
  readonly exitCode: number;
  readonly stdout?: string;
  readonly stderr?: string;
  /** Run time; absent: none. */
  readonly runsForMs?: number;
  /** With streams: copies its input to its output and ends with it. */
  readonly echoes?: boolean;
  readonly onResize?: (size: { readonly width: number; readonly height: number }) => void;
}

const KILLED = 137;

/** Returns the streams of one scripted exec. */
export function memoryExecStreams(exec: MemoryExec, clock: Clock): ExecStreams {
  const stopped = new AbortController();
  const input = new TransformStream<Uint8Array, Uint8Array>();
  const writer = input.writable.getWriter();
  const exited = Promise.withResolvers<number>();
  const encoder = new TextEncoder();

  async function* stdout(): AsyncGenerator<Uint8Array> {
    if (exec.stdout !== undefined) yield encoder.encode(exec.stdout);
    try {
      if (exec.echoes) yield* input.readable;
      else await clock.sleep(exec.runsForMs ?? 0, stopped.signal);
    } catch {
      // Killed: the output ends here.
    }
    exited.resolve(stopped.signal.aborted ? KILLED : exec.exitCode);
  }
  async function* stderr(): AsyncGenerator<Uint8Array> {
    if (exec.stderr !== undefined) yield encoder.encode(exec.stderr);
  }

  return {
    stdout: stdout(),
    stderr: stderr(),
    // Writing to an exited process is not an error.
    write: (data) => writer.write(data).catch(() => {}),
    closeInput: () => void writer.close().catch(() => {}),
    resize: async (size) => exec.onResize?.(size),
    exited: exited.promise,
    kill: async () => {
      stopped.abort();
      await writer.abort().catch(() => {});
      exited.resolve(KILLED);
    },
  };
}
