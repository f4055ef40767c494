import { errorText } from '../../base/error-text.ts';
import { CriError } from '../../cri/cri-error.ts';
import { ContainerEventType } from '../../cri/generated/runtime-v1.ts';
import type { RuntimeService } from '../../cri/services.ts';
import { type ContainerDeps, monitoredName } from '../container/container-deps.ts';
import { asCriError, containerNotFound } from '../container/container-errors.ts';
import { criStateName } from '../container/container-messages.ts';
import { failedStart, nanoseconds } from '../container/container-state.ts';
import { notifyPlugins } from '../container/notify-plugins.ts';
import { requireReadySandbox, resolveTargetPid } from '../container/resolve-container.ts';
import { recordExit, type TerminateDeps } from '../container/terminate-container.ts';
import { applyUpdateDuringStart } from '../container/update-resources.ts';
import type { StartedContainer } from '../oci/oci-runtime.ts';
import { runtimeForRecord } from '../oci/runtime-for-record.ts';
import type { ContainerRecord } from '../store/container-record.ts';
import type { SandboxRecord } from '../store/sandbox-record.ts';

export type StartDeps = TerminateDeps & Pick<ContainerDeps, 'sandboxes' | 'nri' | 'events' | 'log' | 'bootId'>;

const UNDO_TIMEOUT_MS = 60_000;

export function startContainer(deps: StartDeps): RuntimeService['startContainer'] {
  return async ({ containerId }, signal) => {
    const known = deps.store.find(containerId);
    if (!known) throw containerNotFound(containerId);
    await deps.store.withLock(known.id, () => start(known.id, deps, signal));
    return {};
  };
}

async function start(id: string, deps: StartDeps, signal: AbortSignal): Promise<void> {
  signal.throwIfAborted();
  const { store, clock, log } = deps;
  const record = store.find(id);
  if (!record) throw containerNotFound(id);
  if (record.state.phase !== 'created') {
    throw new CriError(
      'FailedPrecondition',
      `container ${id} cannot be started: it is in ${criStateName(record)} state`,
    );
  }
  try {
    await store.applyEvent(id, { type: 'startBegan' });
  } catch (error) {
    throw asCriError('cannot start container', error, signal);
  }
  try {
    await run(record, deps, signal);
  } catch (error) {
    const failure = asCriError('cannot start container', error, signal);
    try {
      await recordExit(id, failedStart(errorText(failure), nanoseconds(clock.now())), deps);
    } catch (unwritten) {
      log.error('cannot record failed start of container', { containerId: id, error: unwritten });
    }
    throw failure;
  }
}

async function run(record: ContainerRecord, deps: StartDeps, signal: AbortSignal): Promise<void> {
  const { store, exitWatcher, clock, paths, runtimes, sandboxes, events, bootId, nri, log } = deps;
  const { id } = record;
  const sandbox = requireReadySandbox(record.sandboxId, { sandboxes });
  resolveTargetPid(record, { containers: store });
  const runtime = runtimeForRecord(runtimes, record);
  const { pid } = await startProcess(record, sandbox, deps, signal);
  try {
    const startedAtNs = nanoseconds(clock.now());
    const started = await store.applyEvent(id, { type: 'started', pid, startedAtNs, bootId });
    if (started) await applyUpdateDuringStart(record.spec?.linux.resources, started, deps, signal);
  } catch (error) {
    try {
      await runtime.remove(monitoredName(paths, id), clock.deadline(UNDO_TIMEOUT_MS));
    } catch (left) {
      const message = `cannot start container: ${errorText(error)}; cannot remove its process: ${errorText(left)}`;
      throw new CriError('Unknown', message, { cause: new AggregateError([error, left]) });
    }
    throw error;
  }
  exitWatcher.watch(record);
  events.publish({
    type: ContainerEventType.CONTAINER_STARTED_EVENT,
    sandboxId: sandbox.id,
    containerId: id,
  });
  const running = store.all.get(id);
  if (running) await notifyPlugins('started', id, log, () => nri.postStartContainer(sandbox, running, signal));
}

async function startProcess(
  record: ContainerRecord,
  sandbox: SandboxRecord,
  { paths, runtimes, nri }: StartDeps,
  signal: AbortSignal,
): Promise<StartedContainer> {
  await nri.startContainer(sandbox, record, signal);
  const { config, logPath } = record;
  const monitored = {
    ...monitoredName(paths, record.id),
    ...(logPath && { logPath }),
    terminal: config.tty,
    stdin: config.stdin,
    stdinOnce: config.stdinOnce,
  };
  return runtimeForRecord(runtimes, record).start(monitored, signal);
}
