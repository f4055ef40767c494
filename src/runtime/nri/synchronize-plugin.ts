import { Container, type ContainerUpdate, PodSandbox, SynchronizeRequest } from './generated/nri-v1alpha1.ts';
import type { NriPlugin } from './nri-plugin.ts';
import { MAX_MESSAGE_BYTES } from './ttrpc/ttrpc-frame.ts';

/** Leaves room for the envelope. */
const MAX_CHUNK_BYTES = MAX_MESSAGE_BYTES - 4096;

/** Sends a plugin all existing objects; returns its updates. Rejects if the plugin does. */
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

/** Splits into as few messages as possible: all but the last announce more. Pods come before containers. */
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

/** Includes the tag and the length prefix. */
function wireSize(encoded: Uint8Array): number {
  return encoded.byteLength + 6;
}
