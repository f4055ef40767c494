import { type Client, Metadata } from '@grpc/grpc-js';
import type { Clock } from '../host/clock.ts';
import type { Random } from '../host/random.ts';
import { AsyncQueue } from './async-queue.ts';
import { connectSocket } from './client.ts';
import { CriError } from './cri-error.ts';
import { ContainerCreate, ContainerDelete, TaskDelete, TaskStart } from './generated/containerd-events.ts';
import { EventsDefinition, PublishRequest } from './generated/containerd-services-events-v1.ts';
import type { Envelope } from './generated/containerd-types-event.ts';
import { callStream, callUnary } from './grpc-call.ts';
import type { RuntimeEvent, RuntimeEvents } from './runtime-events.ts';
import type { RuntimeService } from './services.ts';
import { waitUntilStopped } from './wait-until-stopped.ts';

export interface ContainerdEventsOptions {
  /** The socket of containerd, which serves CRI and its event service. */
  readonly endpoint: string;
  readonly runtime: RuntimeService;
  readonly clock: Clock;
  readonly random: Random;
}

/** The containerd namespace of CRI containers. */
const NAMESPACE = 'k8s.io';
const TOPICS = ['/containers/create', '/containers/delete', '/tasks/start', '/tasks/delete'];

/** Interval at which markers are published. */
const MARKER_INTERVAL_MS = 5;

/**
 * Events of containerd's own event service, for versions before 1.7, whose CRI has no GetContainerEvents.
 *
 * The service does not report when a subscription is active, so markers are published until one is received. It reports
 * an exit before CRI does, so `stopped` is delayed until CRI shows it.
 */
export function containerdEvents(options: ContainerdEventsOptions): RuntimeEvents {
  return {
    async *watch(signal) {
      const client = connectSocket(options.endpoint);
      const closed = new AbortController();
      const queue = new AsyncQueue<RuntimeEvent>();
      const work = AbortSignal.any([signal, closed.signal]);
      subscribe({ ...options, client, queue }, work).catch((reason: unknown) => queue.fail(reason));
      try {
        yield* queue.read();
      } finally {
        closed.abort();
        client.close();
      }
    },
  };
}

interface Subscription extends ContainerdEventsOptions {
  readonly client: Client;
  readonly queue: AsyncQueue<RuntimeEvent>;
}

/** Never resolves. Rejects when the stream fails, ends, or the signal aborts. */
async function subscribe(subscription: Subscription, signal: AbortSignal): Promise<never> {
  const { queue, random } = subscription;
  const marker = `/nodelet/subscribed/${Buffer.from(random.bytes(8)).toString('hex')}`;
  const filters = [...TOPICS, marker].map((topic) => `namespace==${NAMESPACE},topic=="${topic}"`);
  const marked = new AbortController();
  publishMarkers(subscription, marker, AbortSignal.any([signal, marked.signal])).catch((reason: unknown) => {
    if (!marked.signal.aborted) queue.fail(reason);
  });
  try {
    for await (const envelope of envelopes(subscription, filters, signal)) {
      if (envelope.topic !== marker) enqueue(subscription, envelope, signal);
      else if (!marked.signal.aborted) {
        marked.abort();
        queue.push({ kind: 'subscribed' });
      }
    }
  } finally {
    marked.abort();
  }
  throw new CriError('Unavailable', 'containerd ended the stream', { method: 'Subscribe' });
}

async function publishMarkers(subscription: Subscription, topic: string, signal: AbortSignal): Promise<never> {
  const event = { typeUrl: 'containerd.events.ContainerDelete', value: ContainerDelete.encode({ id: '' }).finish() };
  const request = PublishRequest.fromPartial({ topic, event });
  while (true) {
    await callUnary(callOptions(subscription, 'publish'), request, signal);
    await subscription.clock.sleep(MARKER_INTERVAL_MS, signal);
  }
}

async function* envelopes(subscription: Subscription, filters: readonly string[], signal: AbortSignal) {
  const messages = callStream(callOptions(subscription, 'subscribe'), { filters }, signal);
  for await (const message of messages) yield message as Envelope; // the type of the method's codec
}

function callOptions({ client, clock }: Subscription, method: 'publish' | 'subscribe') {
  const metadata = new Metadata();
  metadata.set('containerd-namespace', NAMESPACE);
  const definition = EventsDefinition.methods[method];
  const path = `/${EventsDefinition.fullName}/${definition.name}`;
  return { client, clock, method: { ...definition, path }, metadata, deadlineMs: undefined };
}

function enqueue(subscription: Subscription, { topic, event }: Envelope, signal: AbortSignal): void {
  const { queue } = subscription;
  const bytes = event?.value ?? new Uint8Array();
  if (topic === '/containers/create') queue.push({ kind: 'created', id: ContainerCreate.decode(bytes).id });
  else if (topic === '/containers/delete') queue.push({ kind: 'deleted', id: ContainerDelete.decode(bytes).id });
  else if (topic === '/tasks/start') queue.push({ kind: 'started', id: TaskStart.decode(bytes).containerId });
  else if (topic === '/tasks/delete') {
    const { containerId, id } = TaskDelete.decode(bytes);
    if (id !== '' && id !== containerId) return; // an exec in the container, not the container itself
    waitUntilStopped(containerId, subscription, signal).then(
      (podUid) => queue.push({ kind: 'stopped', id: containerId, ...(podUid ? { podUid } : {}) }),
      (reason: unknown) => queue.fail(reason),
    );
  }
}
