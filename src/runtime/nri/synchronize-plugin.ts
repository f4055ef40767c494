import { Container, type ContainerUpdate, PodSandbox, SynchronizeRequest } from './generated/nri-v1alpha1.ts';
import type { NriPlugin } from './nri-plugin.ts';
import { MAX_MESSAGE_BYTES } from './ttrpc/ttrpc-frame.ts';

/** Room for the envelope. */
const MAX_CHUNK_BYTES = MAX_MESSAGE_BYTES - 4096;

/** Shows a plugin all that is there; what it wants of it. Rejects when it does not take it. */
export async function synchronizePlugin(
  plugin: NriPlugin,
  pods: readonly PodSandbox[],
  containers: readonly Container[],
  signal: AbortSignal,
): Promise<readonly ContainerUpdate[]> {
  for (const request of syncRequests(pods, containers)) {
    const { update, more } = await plugin.call('synchronize', request, signal);
    if (!request.more) return update;
    if (update.length > 0 || !more) throw new Error('plugin does not handle split sync requests');
  }
  return [];
}

/** In as few messages as fit: all but the last say that more is coming. Pods come before containers. */
export function syncRequests(
  pods: readonly PodSandbox[],
  containers: readonly Container[],
  maxBytes = MAX_CHUNK_BYTES,
): readonly SynchronizeRequest[] {
  const requests: SynchronizeRequest[] = [];
  let current = SynchronizeRequest.create();
  let bytes = 0;
  const makeRoom = (size: number): void => {
    if (bytes > 0 && bytes + size > maxBytes) {
      requests.push({ ...current, more: true });
      current = SynchronizeRequest.create();
      bytes = 0;
    }
    bytes += size;
  };
  for (const pod of pods) {
    makeRoom(wireSize(PodSandbox.encode(pod).finish()));
    current.pods.push(pod);
  }
  for (const container of containers) {
    makeRoom(wireSize(Container.encode(container).finish()));
    current.containers.push(container);
  }
  return [...requests, current];
}

/** With its tag and the length before it. */
function wireSize(encoded: Uint8Array): number {
  return encoded.byteLength + 6;
}
