import { type StartedExec, startExec } from './exec-files.ts';
import type { OciDeps } from './oci-deps.ts';
import { type ContainerRef, type ExecStreams, OciError } from './oci-runtime.ts';
import type { OciProcess } from './oci-spec.ts';
import { lastErrorLine } from './runtime-output.ts';

/** Runs a process in the container and returns its streams. */
export async function execStreams(
  container: ContainerRef,
  process: OciProcess,
  name: string,
  deps: OciDeps,
  signal: AbortSignal,
): Promise<ExecStreams> {
  signal.throwIfAborted();
  const started = await startExec(container, process, name, deps, 'all');
  const { program } = started;
  try {
    if (!(await waitForStart(started, container, deps, signal))) throw new OciError(await readErrorText(started));
  } catch (error) {
    await program.kill();
    await program.exited; // until then it may still write the files
    await started.removeFiles();
    throw error;
  }
  program.exited.then(started.removeFiles).catch(() => {}); // files that are left are removed with the bundle, or at the next start
  return wrapStreams(started, process.terminal);
}

/** Resolves the exit code when both outputs have been read to their end. */
function wrapStreams({ program }: StartedExec, isTerminal: boolean): ExecStreams {
  const [stdout, stderr] = [withEnd(program.stdout), withEnd(program.stderr)];
  if (isTerminal) stderr.finish(); // a terminal has no stderr to be read
  return {
    stdout: stdout.chunks,
    stderr: stderr.chunks,
    write: program.write,
    closeInput: program.closeInput,
    resize: program.resize,
    exited: Promise.all([program.exited, stdout.end, stderr.end]).then(([exitCode]) => exitCode),
    kill: async () => {
      await program.kill();
      // A client that stopped reading is not waited for.
      stdout.finish();
      stderr.finish();
    },
  };
}

function withEnd(source: AsyncIterable<Uint8Array>) {
  const { promise: end, resolve: finish } = Promise.withResolvers<void>();
  async function* chunks(): AsyncGenerator<Uint8Array> {
    try {
      yield* source;
    } finally {
      finish();
    }
  }
  return { chunks: chunks(), end, finish };
}

/** Returns `false` if the runtime exited without starting the process. */
async function waitForStart(
  { program, files }: StartedExec,
  { bundle }: ContainerRef,
  { fs }: OciDeps,
  signal: AbortSignal,
): Promise<boolean> {
  const over = new AbortController();
  const hasPid = async (): Promise<boolean> => (await fs.stat(files.pid)) !== undefined;
  program.exited.then(() => over.abort()).catch(() => {}); // never rejects
  for await (const _ of fs.watch(bundle, AbortSignal.any([signal, over.signal]))) {
    if (await hasPid()) {
      over.abort();
      return true;
    }
  }
  signal.throwIfAborted();
  return hasPid();
}

async function readErrorText({ program }: StartedExec): Promise<string> {
  const decoder = new TextDecoder();
  const texts = await Promise.all(
    [program.stdout, program.stderr].map(async (chunks) => {
      let text = '';
      for await (const chunk of chunks) text += decoder.decode(chunk);
      return text;
    }),
  );
  return lastErrorLine(texts.join(''));
}
