import { ProcessOutputError, ProcessStartError } from '../../host/processes.ts';
import { type OciDeps, RUNTIME_ENV } from './oci-deps.ts';
import { type ContainerRef, OciError } from './oci-runtime.ts';
import type { OciHook, OciSpec } from './oci-spec.ts';
import { failureText } from './runtime-output.ts';

/** Limit for a hook's output. */
const MAX_OUTPUT_BYTES = 64 * 1024;

type HookDeps = Pick<OciDeps, 'processes' | 'clock'>;

/**
 * Runs the poststart hooks in order and rejects with `OciError` at the first failure, as the OCI specification
 * requires. Not left to crun, which dies of SIGPIPE if a hook exits without reading the state.
 */
export async function runPostStartHooks(
  container: ContainerRef,
  pid: number,
  { ociVersion, hooks }: Pick<OciSpec, 'ociVersion' | 'hooks'>,
  deps: HookDeps,
  signal: AbortSignal,
): Promise<void> {
  const { id, bundle } = container;
  const state = JSON.stringify({ ociVersion, id, status: 'running', pid, bundle });
  for (const [index, hook] of (hooks?.poststart ?? []).entries()) {
    const failure = await runHook(hook, { cwd: bundle, input: state }, deps, signal);
    if (failure !== undefined) throw new OciError(`poststart hook #${index} (${hook.path}): ${failure}`);
  }
}

async function runHook(
  hook: OciHook,
  options: { readonly cwd: string; readonly input: string },
  { processes, clock }: HookDeps,
  signal: AbortSignal,
): Promise<string | undefined> {
  const { path, args, env, timeout } = hook;
  const limit = timeout === undefined ? undefined : clock.deadline(timeout * 1000);
  const command = {
    ...options,
    program: path,
    args: args?.slice(1) ?? [],
    env: env ? parseEnvironment(env) : RUNTIME_ENV,
    maxOutputBytes: MAX_OUTPUT_BYTES,
  };
  try {
    const finished = await processes.run(command, limit ? AbortSignal.any([signal, limit]) : signal);
    return finished.exitCode === 0 ? undefined : failureText(finished);
  } catch (error) {
    signal.throwIfAborted();
    if (limit?.aborted) return `timed out after ${timeout} s`;
    if (error instanceof ProcessStartError || error instanceof ProcessOutputError) return error.message;
    throw error;
  }
}

function parseEnvironment(lines: readonly string[]): Record<string, string> {
  const pairs = lines.map((line) => [line.split('=', 1)[0] ?? '', line.slice(line.indexOf('=') + 1)] as const);
  return Object.fromEntries(pairs);
}
