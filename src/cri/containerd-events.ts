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
  /** Of containerd, which serves CRI and its own events on one socket. */
  readonly endpoint: string;
  readonly runtime: RuntimeService;
  readonly clock: Clock;
  readonly random: Random;
}

/** Where containerd's CRI keeps its containers. */
const NAMESPACE = 'k8s.io';
const TOPICS = ['/containers/create', '/containers/delete', '/tasks/start', '/tasks/delete'];

/** How long to wait for a marker before the next is sent. */
const MARKER_MS = 5;

/**
 * Over containerd's own event service, for those (before 1.7) whose CRI has no GetContainerEvents.
 *
 * It does not say when a subscription is live, so we publish markers until one comes back on it. And it tells of an
 * exit before CRI shows it, so `stopped` is held back until CRI does.
 */
export function containerdEvents(options: ContainerdEventsOptions): RuntimeEvents {
  return {
    async *watch(signal) {
      const client = connectSocket(options.endpoint);
      const over = new AbortController();
      const queue = new AsyncQueue<RuntimeEvent>();
      const work = AbortSignal.any([signal, over.signal]);
      subscribe({ ...options, client, queue }, work).catch((reason: unknown) => queue.fail(reason));
      try {
        yield* queue.read();
      } finally {
        over.abort();
        client.close();
      }
    },
  };
}

interface Subscription extends ContainerdEventsOptions {
  readonly client: Client;
  readonly queue: AsyncQueue<RuntimeEvent>;
}

/** Never resolves: rejects when the stream breaks, ends, or the signal aborts. */
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
    await subscription.clock.sleep(MARKER_MS, signal);
  }
}

async function* envelopes(subscription: Subscription, filters: readonly string[], signal: AbortSignal) {
  const messages = callStream(callOptions(subscription, 'subscribe'), { filters }, signal);
  for await (const message of messages) yield message as Envelope; // what the method's codec makes
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
    if (id !== '' && id !== containerId) return; // a command that ran inside, not the container
    waitUntilStopped(containerId, subscription, signal).then(
      (podUid) => queue.push({ kind: 'stopped', id: containerId, ...(podUid ? { podUid } : {}) }),
      (reason: unknown) => queue.fail(reason),
    );
  }
}
