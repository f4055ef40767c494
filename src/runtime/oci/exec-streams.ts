import { type StartedExec, startExec } from './exec-files.ts';
import type { OciDeps } from './oci-deps.ts';
import { type ExecStreams, type MonitoredName, OciError } from './oci-runtime.ts';
import type { OciProcess } from './oci-spec.ts';
import { lastWords } from './runtime-words.ts';

/** Runs a process in the container with its streams in the caller's hands. */
export async function execStreams(
  container: MonitoredName,
  process: OciProcess,
  name: string,
  deps: OciDeps,
  signal: AbortSignal,
): Promise<ExecStreams> {
  signal.throwIfAborted();
  const started = await startExec(container, process, name, deps, 'all');
  const { program } = started;
  try {
    if (!(await runs(started, container, deps, signal))) throw new OciError(await wordsOf(started));
  } catch (error) {
    await program.kill();
    await program.exited; // until then it may still write them
    await started.removeFiles();
    throw error;
  }
  program.exited.then(started.removeFiles).catch(() => {}); // files that are left go with the bundle, or at the next start
  return followed(started, process.terminal);
}

/** The exit code is told when both outputs have been read to their end. */
function followed({ program }: StartedExec, isTerminal: boolean): ExecStreams {
  const [stdout, stderr] = [withEnd(program.stdout), withEnd(program.stderr)];
  if (isTerminal) stderr.finish(); // there is none, so nobody need read it
  return {
    stdout: stdout.chunks,
    stderr: stderr.chunks,
    write: program.write,
    closeInput: program.closeInput,
    resize: program.resize,
    exited: Promise.all([program.exited, stdout.end, stderr.end]).then(([exitCode]) => exitCode),
    kill: async () => {
      await program.kill();
      // Whoever reads no more is not waited for.
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

/** `false`: the runtime has ended without having started it. */
async function runs(
  { program, files }: StartedExec,
  { bundle }: MonitoredName,
  { fs }: OciDeps,
  signal: AbortSignal,
): Promise<boolean> {
  const over = new AbortController();
  const hasPid = async (): Promise<boolean> => (await fs.stat(files.pid)) !== undefined;
  program.exited.then(() => over.abort()).catch(() => {}); // it never rejects
  for await (const _ of fs.watch(bundle, AbortSignal.any([signal, over.signal]))) {
    if (await hasPid()) {
      over.abort();
      return true;
    }
  }
  signal.throwIfAborted();
  return hasPid();
}

async function wordsOf({ program }: StartedExec): Promise<string> {
  const decoder = new TextDecoder();
  const texts = await Promise.all(
    [program.stdout, program.stderr].map(async (chunks) => {
      let text = '';
      for await (const chunk of chunks) text += decoder.decode(chunk);
      return text;
    }),
  );
  return lastWords(texts.join(''));
}
