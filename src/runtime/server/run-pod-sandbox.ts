import { errorText } from '../../base/error-text.ts';
import { CriError } from '../../cri/cri-error.ts';
import { invalidField, withFieldPrefix } from '../../cri/field-error.ts';
import { ContainerEventType, PodSandboxConfig } from '../../cri/generated/runtime-v1.ts';
import type { RuntimeService } from '../../cri/services.ts';
import { NamespaceError } from '../../host/namespaces.ts';
import type { OciRuntime } from '../oci/oci-runtime.ts';
import { identityOf } from '../oci/runtime-for-record.ts';
import { buildSandbox } from '../sandbox/build-sandbox.ts';
import type { CleanupRetryQueue } from '../sandbox/cleanup-retry-queue.ts';
import type { PauseWatcher } from '../sandbox/pause.ts';
import { planSandbox, type SandboxPlan, sandboxName } from '../sandbox/plan-sandbox.ts';
import type { SandboxDeps } from '../sandbox/sandbox-deps.ts';
import type { SandboxStore } from '../sandbox/sandbox-store.ts';
import { sysctlField, sysctlPath } from '../sandbox/sandbox-sysctls.ts';
import { cleanUpSandbox } from '../sandbox/stop-sandbox.ts';
import { removeSandboxFolders, teardownSandbox } from '../sandbox/teardown-sandbox.ts';
import type { SandboxRecord } from '../store/sandbox-record.ts';

/** Bounds the undo, so that the caller gets the error. */
const UNDO_TIMEOUT_MS = 60_000;
const ID_BYTES = 32;

export interface RunDeps extends SandboxDeps {
  readonly store: SandboxStore;
  readonly cleanups: CleanupRetryQueue;
  readonly pauses: PauseWatcher;
}

/**
 * A failed create is undone. If the undo fails too, the sandbox is listed as `unknown` (NOTREADY), and the cleanup is
 * retried until it succeeds or a client removes the sandbox.
 */
export function runPodSandbox(deps: RunDeps): RuntimeService['runPodSandbox'] {
  return async (request, signal) => {
    if (request.config === undefined) throw invalidField('config', 'must be set');
    const { runtimeHandler } = request;
    const config = PodSandboxConfig.fromPartial(request.config); // a copy: the caller may change its own
    const id = Buffer.from(deps.random.bytes(ID_BYTES)).toString('hex');
    const { name, plan } = await withFieldPrefix('config', () => ({
      name: sandboxName(config),
      plan: planSandbox(id, config, deps.paths),
    }));
    const runtime = requireRuntime(runtimeHandler, plan, deps);
    signal.throwIfAborted();
    reserve(name, id, deps.store);
    const record: SandboxRecord = {
      id,
      config,
      runtimeHandler,
      oci: identityOf(runtime),
      createdAtNs: BigInt(deps.clock.now()) * 1_000_000n,
      state: { phase: 'creating' },
      namespaces: plan.namespaces,
      filesOnDisk: true,
      pause: plan.pause !== 'none',
      ips: [],
      networkResults: {},
      bootId: deps.bootId,
    };
    await deps.store.withLock(id, () => createSandbox(record, plan, runtime, deps, signal));
    return { podSandboxId: id };
  };
}

function requireRuntime(name: string, { pause }: SandboxPlan, { runtimes }: SandboxDeps): OciRuntime {
  const runtime = runtimes.handler(name);
  if (runtime === undefined)
    throw invalidField('runtime_handler', `no runtime for ${JSON.stringify(name)} is configured`);
  const features = runtimes.handlers.find((handler) => handler.name === name);
  if (pause === 'creates' && features?.userNamespaces === false) {
    const field = 'config.linux.security_context.namespace_options.userns_options';
    throw invalidField(field, `the runtime handler ${JSON.stringify(name)} has no user namespaces`);
  }
  return runtime;
}

function reserve(name: string, id: string, store: SandboxStore): void {
  const holder = store.reserveName(name, id);
  if (holder === undefined) return;
  const [shown, by] = [JSON.stringify(name), JSON.stringify(holder)];
  throw new CriError('AlreadyExists', `failed to reserve sandbox name ${shown}: name ${shown} is reserved for ${by}`);
}

async function createSandbox(
  record: SandboxRecord,
  plan: SandboxPlan,
  runtime: OciRuntime,
  deps: RunDeps,
  signal: AbortSignal,
): Promise<void> {
  const { store, pauses } = deps;
  let ready: SandboxRecord;
  try {
    await store.put(record); // on disk before any resource exists
    const built = await withFieldPrefix('config', () => buildSandbox(record, plan, runtime, deps, signal));
    ready = await markReady(built, deps, signal);
  } catch (error) {
    const failures = await undoCreate(record, deps);
    signal.throwIfAborted();
    throw asRunError(error, failures, record);
  }
  store.publish(ContainerEventType.CONTAINER_CREATED_EVENT, record.id);
  store.publish(ContainerEventType.CONTAINER_STARTED_EVENT, record.id);
  if (ready.pause) pauses.watch(ready);
}

async function markReady(built: SandboxRecord, deps: RunDeps, signal: AbortSignal): Promise<SandboxRecord> {
  const { nri, store, clock, log } = deps;
  await nri.runPodSandbox(built, signal);
  try {
    signal.throwIfAborted();
    return await store.updateState(built, { phase: 'ready' });
  } catch (error) {
    await nri.removePodSandbox(built, clock.deadline(UNDO_TIMEOUT_MS)).catch((failure: unknown) => {
      log.warn('cannot notify NRI plugins of sandbox removal', { sandboxId: built.id, error: failure });
    });
    throw error;
  }
}

/** Uses its own deadline: the caller's signal may have aborted. */
async function undoCreate(record: SandboxRecord, deps: RunDeps): Promise<readonly unknown[]> {
  const { store, cleanups, clock } = deps;
  const failures = [...(await teardownSandbox(record, deps, clock.deadline(UNDO_TIMEOUT_MS)))];
  try {
    if (failures.length === 0) {
      await removeSandboxFolders(record.id, deps);
      await store.remove(record);
      return [];
    }
  } catch (error) {
    failures.push(error);
  }
  cleanups.add(record.id, (limit) => cleanUpSandbox(record.id, deps, limit));
  try {
    await store.updateState(record, { phase: 'unknown', reason: failures.map(errorText).join('; ') });
  } catch (error) {
    failures.push(error);
    // Never recorded: it cannot be removed by id, and recovery at the next start removes its directories as orphans.
    if (!store.all.has(record.id)) store.releaseName(sandboxName(record.config), record.id);
  }
  return failures;
}

function asRunError(error: unknown, failures: readonly unknown[], { id, config }: SandboxRecord): CriError {
  const cause = failures.length === 0 ? error : new AggregateError([error, ...failures]);
  if (error instanceof NamespaceError && error.sysctl !== undefined) {
    const name =
      Object.keys(config.linux?.sysctls ?? {}).find((each) => sysctlPath(each) === error.sysctl) ?? error.sysctl;
    return new CriError('InvalidArgument', `config.${sysctlField(name)}: ${errorText(cause)}`, { cause });
  }
  if (error instanceof CriError && failures.length === 0) return error;
  const code = error instanceof CriError ? error.code : 'Unknown';
  return new CriError(code, `failed to run sandbox ${JSON.stringify(id)}: ${errorText(cause)}`, { cause });
}
