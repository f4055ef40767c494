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
const NS_PER_US = 1_000n;
const US_PER_MS = 1_000;

/**
 * Events of GetContainerEvents. A runtime does not report when a stream is active. It counts as active once the runtime
 * has answered two later calls on the same connection.
 */
export function criEvents(runtime: RuntimeService): RuntimeEvents {
  return {
    async *watch(signal) {
      const closed = new AbortController();
      const watched = AbortSignal.any([signal, closed.signal]);
      const events = runtime.getContainerEvents({}, watched)[Symbol.asyncIterator]();
      let next = events.next();
      next.catch(() => {}); // thrown by the next await below
      try {
        await Promise.race([next, roundTrips(runtime, watched)]);
        yield { kind: 'subscribed' };
        for (let result = await next; !result.done; result = await next) {
          yield toRuntimeEvent(result.value);
          next = events.next();
        }
      } finally {
        closed.abort(); // return() of a generator waits for its pending next(), which only this abort ends
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

function toRuntimeEvent(event: ContainerEventResponse): RuntimeEvent {
  const { containerId, containerEventType, createdAt, podSandboxStatus } = event;
  const podUid = podSandboxStatus?.metadata?.uid;
  return {
    kind: KINDS[containerEventType],
    id: containerId,
    ...(podUid ? { podUid } : {}),
    ...(createdAt > 0n && { createdMs: Number(createdAt / NS_PER_US) / US_PER_MS }),
  };
}
