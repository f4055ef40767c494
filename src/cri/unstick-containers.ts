import { Metadata } from '@grpc/grpc-js';
import type { Clock } from '../host/clock.ts';
import { connectSocket } from './client.ts';
import { hasCode } from './cri-error.ts';
import { ContainerDelete } from './generated/containerd-events.ts';
import { Empty } from './generated/google/protobuf/empty.ts';
import { callUnary } from './grpc-call.ts';
import type { RuntimeService } from './services.ts';

export interface UnstickOptions {
  /** The socket of containerd, which serves CRI and its task service. */
  readonly endpoint: string;
  readonly clock: Clock;
}

/** The containerd namespace of CRI containers. */
const NAMESPACE = 'k8s.io';
const DELETE_TIMEOUT_MS = 10_000;

/** The request has the container id as field 1, like `ContainerDelete`. The response is not used. */
const DELETE_TASK = {
  name: 'Delete',
  path: '/containerd.services.tasks.v1.Tasks/Delete',
  requestType: ContainerDelete,
  responseType: Empty,
};

/**
 * Wraps the service so that RemoveContainer also works after an interrupted start.
 *
 * When the caller of StartContainer dies at the wrong moment, containerd 1.6 reports the container as exited but keeps a
 * task for it that its CRI plugin does not know: no later call stops the task, and RemoveContainer fails forever. So
 * after such an error the task is deleted and the removal is repeated. A task with a live process stays, and the error
 * is returned.
 */
export function unstickContainers(runtime: RuntimeService, options: UnstickOptions): RuntimeService {
  return {
    ...runtime,
    async removeContainer(request, signal) {
      try {
        return await runtime.removeContainer(request, signal);
      } catch (error) {
        if (!hasCode(error, 'FailedPrecondition')) throw error;
        const isDeleted = await deleteTask(request.containerId, options, signal);
        if (!isDeleted) throw error;
        return runtime.removeContainer(request, signal);
      }
    },
  };
}

/** `false` if there is no task, if it still runs, or if the runtime is not containerd. */
async function deleteTask(id: string, { endpoint, clock }: UnstickOptions, signal: AbortSignal): Promise<boolean> {
  const client = connectSocket(endpoint);
  const metadata = new Metadata();
  metadata.set('containerd-namespace', NAMESPACE);
  try {
    await callUnary({ client, clock, method: DELETE_TASK, metadata, deadlineMs: DELETE_TIMEOUT_MS }, { id }, signal);
    return true;
  } catch {
    signal.throwIfAborted();
    return false;
  } finally {
    client.close();
  }
}
