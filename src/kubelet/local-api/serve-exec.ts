import type { RuntimeService } from '../../cri/services.ts';
import type { AgentView, PodReport } from '../explain/agent-view.ts';
import { newestContainer } from '../pod/observed-pod.ts';
import { ApiError } from './api-error.ts';
import { chooseContainer } from './choose-container.ts';
import { findPod } from './find-pod.ts';
import type { ExecAnswer, ExecQuery } from './local-api-types.ts';
import { throwIfEnded, waitingReason } from './serve-logs.ts';

/** Requests the runtime's address for the streams of the command. */
export async function serveExec(
  { view, runtime }: { readonly view: AgentView; readonly runtime: Pick<RuntimeService, 'exec'> },
  query: ExecQuery,
  signal: AbortSignal,
): Promise<ExecAnswer> {
  if (query.command.length === 0) throw new ApiError('BadRequest', 'you must specify at least one command');
  const report = findPod(view, query.pod);
  const { name, note } = chooseContainer(report.pod, query.container);
  const { stdin, tty } = query;
  const { url } = await runtime.exec(
    // A terminal has one output only.
    { containerId: runningContainerId(report, name), cmd: [...query.command], stdin, tty, stdout: true, stderr: !tty },
    signal,
  );
  return { url, note };
}

function runningContainerId(report: PodReport, name: string): string {
  const container = newestContainer(report.observed, name);
  if (container?.state === 'running') return container.id;
  if (container === undefined) throwIfEnded(report);
  const why = waitingReason(report, name) ?? (container?.state === 'exited' ? container.reason : 'ContainerCreating');
  throw new ApiError('Conflict', `container "${name}" in pod "${report.pod.metadata.name}" is not running: ${why}`);
}
