import { formatNanoTime } from '../../base/rfc3339.ts';
import { CriError } from '../cri-error.ts';
import { ContainerEventType } from '../generated/runtime-v1.ts';
import type { FakeWorld } from './fake-world.ts';
import type { FakeContainer, FakeProcess, FakeSandbox } from './records.ts';

const SIGTERM_CODE = 128 + 15;
const SIGKILL_CODE = 128 + 9;

/** How a program exits. */
export interface ProcessExit {
  readonly exitCode: number;
  /** containerd's reason; absent: derived from the exit code. */
  readonly reason?: string;
}

/** Starts the program of a created container. The sandbox is ready. */
export async function startProcess(world: FakeWorld, container: FakeContainer, sandbox: FakeSandbox): Promise<void> {
  const behaviour = world.behaviourOf(container, sandbox);
  if (behaviour.startError !== undefined) failToStart(world, container, behaviour.startError);

  const controller = new AbortController();
  const process: FakeProcess = { behaviour, ended: controller.signal, end: () => controller.abort() };
  container.state = { phase: 'running', startedAt: world.timestamp(), process };
  world.onEffect({ kind: 'started', container });
  world.publishEvent(ContainerEventType.CONTAINER_STARTED_EVENT, container.id, container.sandboxId);
  if (behaviour.exits) {
    const { afterMs, code, reason } = behaviour.exits;
    exitAfter(world, container, process, afterMs, { exitCode: code, ...(reason && { reason }) });
  }
  await writeLog(world, container, behaviour.output ?? []);
}

/** Marks the container as exited, as containerd does after a failed start, and throws. */
export function failToStart(world: FakeWorld, container: FakeContainer, message: string): never {
  const finishedAt = world.timestamp();
  container.state = { phase: 'exited', startedAt: 0n, finishedAt, exitCode: 128, reason: 'StartError', message };
  world.onEffect({ kind: 'exited', container });
  throw new CriError('Unknown', message);
}

/** Sends SIGTERM. The program's reaction does not depend on the caller or its grace period. */
export function terminate(world: FakeWorld, container: FakeContainer): void {
  if (container.state.phase !== 'running') return;
  const { process } = container.state;
  const reaction = process.behaviour.onTerminate ?? { afterMs: 0, code: SIGTERM_CODE };
  if (reaction === 'ignore') return;
  if (reaction.afterMs === 0) exit(world, container, { exitCode: reaction.code });
  else exitAfter(world, container, process, reaction.afterMs, { exitCode: reaction.code });
}

export function kill(world: FakeWorld, container: FakeContainer): void {
  if (container.state.phase !== 'running') return;
  world.onEffect({ kind: 'killed', container });
  exit(world, container, { exitCode: SIGKILL_CODE });
}

/** Does nothing for a container that does not run. */
export function exit(world: FakeWorld, container: FakeContainer, { exitCode, reason }: ProcessExit): void {
  if (container.state.phase !== 'running') return;
  const { startedAt, process } = container.state;
  container.state = {
    phase: 'exited',
    startedAt,
    finishedAt: world.timestamp(),
    exitCode,
    reason: reason ?? (exitCode === 0 ? 'Completed' : 'Error'),
    message: '',
  };
  process.end();
  world.onEffect({ kind: 'exited', container });
  world.publishEvent(ContainerEventType.CONTAINER_STOPPED_EVENT, container.id, container.sandboxId);
}

/** Resolves when the program has exited or after `ms`; rejects when the signal aborts. */
export async function waitForExit(
  world: FakeWorld,
  process: FakeProcess,
  ms: number,
  signal: AbortSignal,
): Promise<void> {
  if (process.ended.aborted) return;
  try {
    await world.clock.sleep(ms, AbortSignal.any([process.ended, signal]));
  } catch (error) {
    if (!process.ended.aborted) throw error;
  }
}

function exitAfter(
  world: FakeWorld,
  container: FakeContainer,
  process: FakeProcess,
  ms: number,
  exited: ProcessExit,
): void {
  world.clock.sleep(ms, process.ended).then(
    () => exit(world, container, exited),
    () => {}, // it exited before
  );
}

/** Writes the CRI log format: time, stream, F for a full line, the line. */
async function writeLog(world: FakeWorld, { logPath }: FakeContainer, lines: readonly string[]): Promise<void> {
  if (logPath === '' || world.fs === undefined) return;
  await world.fs.makeDirectory(logPath.slice(0, logPath.lastIndexOf('/')));
  const text = lines.map((line) => `${formatNanoTime(world.timestamp())} stdout F ${line}\n`).join('');
  await world.fs.appendFile(logPath, text);
}
