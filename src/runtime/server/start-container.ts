import { textOf } from '../../base/text-of.ts';
import { CriError } from '../../cri/cri-error.ts';
import { ContainerEventType } from '../../cri/generated/runtime-v1.ts';
import type { RuntimeService } from '../../cri/services.ts';
import { type ContainerDeps, monitoredName, runtimeOf } from '../container/container-deps.ts';
import { containerNotFound, failureOf } from '../container/container-failure.ts';
import { nanoseconds, startFailed } from '../container/container-life.ts';
import { stateName } from '../container/container-messages.ts';
import { readySandbox, targetPidOf } from '../container/describe-container.ts';
import { type EndDeps, settle } from '../container/end-container.ts';
import { tellPlugins } from '../container/tell-plugins.ts';
import { catchUp } from '../container/update-resources.ts';
import type { StartedContainer } from '../oci/oci-runtime.ts';
import type { ContainerRecord } from '../store/container-record.ts';
import type { SandboxRecord } from '../store/sandbox-record.ts';

export type StartDeps = EndDeps & Pick<ContainerDeps, 'sandboxes' | 'nri' | 'events' | 'log' | 'bootId'>;

const UNDO_MS = 60_000;

export function startContainer(deps: StartDeps): RuntimeService['startContainer'] {
  return async ({ containerId }, signal) => {
    const known = deps.ledger.find(containerId);
    if (!known) throw containerNotFound(containerId);
    await deps.ledger.turn(known.id, () => start(known.id, deps, signal));
    return {};
  };
}

async function start(id: string, deps: StartDeps, signal: AbortSignal): Promise<void> {
  signal.throwIfAborted();
  const { ledger, clock, log } = deps;
  const record = ledger.find(id);
  if (!record) throw containerNotFound(id);
  if (record.life.phase !== 'created') {
    throw new CriError('FailedPrecondition', `container ${id} cannot be started: it is in ${stateName(record)} state`);
  }
  try {
    await ledger.change(id, { type: 'startBegan' });
  } catch (error) {
    throw failureOf('cannot start container', error, signal);
  }
  try {
    await run(record, deps, signal);
  } catch (error) {
    const failure = failureOf('cannot start container', error, signal);
    try {
      await settle(id, startFailed(textOf(failure), nanoseconds(clock.now())), deps);
    } catch (unwritten) {
      log.error('cannot record that a container did not start', { containerId: id, error: unwritten });
    }
    throw failure;
  }
}

async function run(record: ContainerRecord, deps: StartDeps, signal: AbortSignal): Promise<void> {
  const { ledger, live, clock, paths, runtimes, sandboxes, events, bootId, nri, log } = deps;
  const { id } = record;
  const sandbox = readySandbox(record.sandboxId, { sandboxes });
  targetPidOf(record, { containers: ledger });
  const runtime = runtimeOf(runtimes, record);
  const { pid } = await startProcess(record, sandbox, deps, signal);
  try {
    const startedAtNs = nanoseconds(clock.now());
    const started = await ledger.change(id, { type: 'started', pid, startedAtNs, bootId });
    if (started) await catchUp(record.spec?.linux.resources, started, deps, signal);
  } catch (error) {
    try {
      await runtime.remove(monitoredName(paths, id), clock.deadline(UNDO_MS));
    } catch (left) {
      const message = `cannot start container: ${textOf(error)}; and its process cannot be removed: ${textOf(left)}`;
      throw new CriError('Unknown', message, { cause: new AggregateError([error, left]) });
    }
    throw error;
  }
  live.watch(record);
  events.publish({
    type: ContainerEventType.CONTAINER_STARTED_EVENT,
    sandboxId: sandbox.id,
    containerId: id,
  });
  const running = ledger.all.get(id);
  if (running) await tellPlugins('started', id, log, () => nri.postStartContainer(sandbox, running, signal));
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
  return runtimeOf(runtimes, record).start(monitored, signal);
}
