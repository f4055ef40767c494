import { CriError } from './cri-error.ts';
import { type ContainerEventResponse, ContainerEventType } from './generated/runtime-v1.ts';
import type { RuntimeEvent, RuntimeEvents } from './runtime-events.ts';
import type { RuntimeService } from './services.ts';

const KINDS = {
  [ContainerEventType.CONTAINER_CREATED_EVENT]: 'created',
  [ContainerEventType.CONTAINER_STARTED_EVENT]: 'started',
  [ContainerEventType.CONTAINER_STOPPED_EVENT]: 'stopped',
  [ContainerEventType.CONTAINER_DELETED_EVENT]: 'deleted',
} as const;

/**
 * Over GetContainerEvents. A runtime does not say when it has begun to send; it has once it has answered two calls that
 * were made later on the same connection, as far as a client can tell.
 */
export function criEvents(runtime: RuntimeService): RuntimeEvents {
  return {
    async *watch(signal) {
      const left = new AbortController();
      const watched = AbortSignal.any([signal, left.signal]);
      const events = runtime.getContainerEvents({}, watched)[Symbol.asyncIterator]();
      let next = events.next();
      next.catch(() => {}); // thrown below, by whoever awaits it next
      try {
        await Promise.race([next, roundTrips(runtime, watched)]);
        yield { kind: 'subscribed' };
        for (let result = await next; !result.done; result = await next) {
          yield toRuntimeEvent(result.value);
          next = events.next();
        }
      } finally {
        left.abort(); // a generator's return() waits for its pending next(), which only this ends
        await events.return?.();
      }
      throw new CriError('Unavailable', 'the runtime ended the stream', { method: 'GetContainerEvents' });
    },
  };
}

async function roundTrips(runtime: RuntimeService, signal: AbortSignal): Promise<void> {
  await runtime.version({ version: '' }, signal);
  await runtime.version({ version: '' }, signal);
}

function toRuntimeEvent({ containerId, containerEventType, podSandboxStatus }: ContainerEventResponse): RuntimeEvent {
  const podUid = podSandboxStatus?.metadata?.uid;
  return { kind: KINDS[containerEventType], id: containerId, ...(podUid ? { podUid } : {}) };
}
