import { Metadata } from '@grpc/grpc-js';
import type { Clock } from '../host/clock.ts';
import { connectSocket } from './client.ts';
import { hasCode } from './cri-error.ts';
import { ContainerDelete } from './generated/containerd-events.ts';
import { Empty } from './generated/google/protobuf/empty.ts';
import { callUnary } from './grpc-call.ts';
import type { RuntimeService } from './services.ts';

export interface UnstickOptions {
  /** Of containerd, which serves CRI and its own tasks on one socket. */
  readonly endpoint: string;
  readonly clock: Clock;
}

/** Where containerd's CRI keeps its containers. */
const NAMESPACE = 'k8s.io';
const DELETE_MS = 10_000;

/** Its request has the container's id as field 1, as this message does; its answer says nothing that we need. */
const DELETE_TASK = {
  name: 'Delete',
  path: '/containerd.services.tasks.v1.Tasks/Delete',
  requestType: ContainerDelete,
  responseType: Empty,
};

/**
 * The same service, on which a container can be removed even after a start that was broken off.
 *
 * When the caller of StartContainer dies at the wrong moment, containerd (1.6) shows the container as exited and yet
 * keeps a task for it, of which its CRI knows nothing: no later call ends it, and RemoveContainer is refused for ever.
 * So a refusal is answered by deleting the task. One that has a live process stays, and the refusal with it.
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

/** `false` when there is none, when it still runs, or when this is not containerd. */
async function deleteTask(id: string, { endpoint, clock }: UnstickOptions, signal: AbortSignal): Promise<boolean> {
  const client = connectSocket(endpoint);
  const metadata = new Metadata();
  metadata.set('containerd-namespace', NAMESPACE);
  try {
    await callUnary({ client, clock, method: DELETE_TASK, metadata, deadlineMs: DELETE_MS }, { id }, signal);
    return true;
  } catch {
    signal.throwIfAborted();
    return false;
  } finally {
    client.close();
  }
}
