import { ProcessOutputError, ProcessStartError } from '../../host/processes.ts';
import { type OciDeps, RUNTIME_ENV } from './oci-deps.ts';
import { type MonitoredName, OciError } from './oci-runtime.ts';
import type { OciHook, OciSpec } from './oci-spec.ts';
import { faultOf } from './runtime-words.ts';

/** A hook may say something; who writes more than this is no hook. */
const MAX_WORDS_BYTES = 64 * 1024;

type HookDeps = Pick<OciDeps, 'processes' | 'clock'>;

/**
 * Runs the hooks that follow a start, one after the other, and rejects with an `OciError` at the first that fails, as the
 * OCI specification has it. crun is not asked to: it dies of SIGPIPE when a hook ends without having read the state.
 */
export async function runPostStartHooks(
  container: MonitoredName,
  pid: number,
  { ociVersion, hooks }: Pick<OciSpec, 'ociVersion' | 'hooks'>,
  deps: HookDeps,
  signal: AbortSignal,
): Promise<void> {
  const { id, bundle } = container;
  const state = JSON.stringify({ ociVersion, id, status: 'running', pid, bundle });
  for (const [index, hook] of (hooks?.poststart ?? []).entries()) {
    const fault = await hookFault(hook, { cwd: bundle, input: state }, deps, signal);
    if (fault !== undefined) throw new OciError(`poststart hook #${index} (${hook.path}): ${fault}`);
  }
}

async function hookFault(
  hook: OciHook,
  surroundings: { readonly cwd: string; readonly input: string },
  { processes, clock }: HookDeps,
  signal: AbortSignal,
): Promise<string | undefined> {
  const { path, args, env, timeout } = hook;
  const limit = timeout === undefined ? undefined : clock.deadline(timeout * 1000);
  const command = {
    ...surroundings,
    program: path,
    args: args?.slice(1) ?? [],
    env: env ? environmentOf(env) : RUNTIME_ENV,
    maxOutputBytes: MAX_WORDS_BYTES,
  };
  try {
    const finished = await processes.run(command, limit ? AbortSignal.any([signal, limit]) : signal);
    return finished.exitCode === 0 ? undefined : faultOf(finished);
  } catch (error) {
    signal.throwIfAborted();
    if (limit?.aborted) return `not done after ${timeout} s`;
    if (error instanceof ProcessStartError || error instanceof ProcessOutputError) return error.message;
    throw error;
  }
}

function environmentOf(lines: readonly string[]): Record<string, string> {
  const pairs = lines.map((line) => [line.split('=', 1)[0] ?? '', line.slice(line.indexOf('=') + 1)] as const);
  return Object.fromEntries(pairs);
}
