import type { Node } from '../../../api/generated/core-v1.ts';
import type { Log } from '../../../base/log.ts';
import { runAllOrAbort } from '../../../base/run-all-or-abort.ts';
import type { Clock } from '../../../host/clock.ts';
import type { Random } from '../../../host/random.ts';
import type { ApiServer } from '../../api-client/api-server.ts';
import type { NodePressure } from '../../eviction/node-pressure.ts';
import type { NodeAttachments } from '../attachments/node-attachments.ts';
import { NodeLease } from '../lease/node-lease.ts';
import { type NodeCache, nodeKey } from '../node-cache.ts';
import { type NodeEvent, type NodeEvents, nodeStatusEvent } from '../node-event.ts';
import type { NodeSettings } from '../node-settings.ts';
import { type ComposedNode, composeNode } from '../status/compose-node.ts';
import type { NodeGatherer } from '../status/gather-node.ts';
import type { DeviceCounts } from '../status/node-resources.ts';
import { NodeStatusWriter } from '../status/node-status-writer.ts';
import type { RuntimeReadiness } from '../status/runtime-readiness.ts';
import type { StorageReadiness } from '../storage-readiness.ts';
import { initialNode } from './initial-node.ts';
import { nodeChannel } from './node-channel.ts';
import { type Registration, registerNode } from './register-node.ts';

export interface NodeManagerDeps {
  readonly api: ApiServer;
  readonly gatherer: NodeGatherer;
  readonly readiness: RuntimeReadiness;
  readonly storage: Pick<StorageReadiness, 'subscribe'>;
  /** The devices of plugins; absent: none. */
  readonly devices?: NodeDevices | undefined;
  readonly pressure: Pick<NodePressure, 'subscribe'>;
  /** Absent: shutdowns of the machine are not observed. */
  readonly shutdown?: Pick<StorageReadiness, 'subscribe'>;
  readonly attachments: NodeAttachments;
  readonly events: NodeEvents;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  readonly cache: NodeCache;
}

/** The devices of plugins, as the node object shows them. */
export interface NodeDevices {
  counts(): DeviceCounts;
  /** The extended resources of an existing node object are not those of this machine. */
  readonly isNewMachine: boolean;
  /** Calls the listener when the counts change. */
  subscribe(listener: () => void): () => void;
}

export interface NodeManager {
  /** Runs until the signal aborts. */
  run(signal: AbortSignal): Promise<void>;
  /** The node as last observed at the API server. */
  current(): Node | undefined;
  /** Resolves after the first response of the API server about the node, even if the node does not exist. */
  readonly synced: Promise<void>;
  /** Requests the node from the API server, because the watch may lag. Has no effect if the server does not respond. */
  refresh(signal: AbortSignal): Promise<void>;
}

/** Registers the node, then maintains its status and its lease. */
export function createNodeManager(settings: NodeSettings, deps: NodeManagerDeps): NodeManager {
  const { cache } = deps;
  return {
    run: (signal) => runNode(settings, deps, signal),
    current: () => cache.current,
    synced: cache.synced,
    async refresh(signal) {
      const node = await deps.api.get(nodeKey(settings.nodeName), signal).catch(() => undefined);
      if (node) cache.onObserved(node);
    },
  };
}

async function runNode(settings: NodeSettings, deps: NodeManagerDeps, signal: AbortSignal): Promise<void> {
  const { readiness, storage, pressure, shutdown, gatherer, attachments, cache, devices } = deps;
  const recorder = new NodeEventRecorder(deps.events);
  const compose = async (before: Node, until: AbortSignal): Promise<ComposedNode> => {
    const inputs = await gatherer.gather(until);
    return composeNode(before, { ...inputs, volumesInUse: await attachments.compose() }, settings);
  };
  const status = new NodeStatusWriter(settings, {
    ...deps,
    compose,
    onReported: (node) => {
      publishReady(node);
      attachments.onReported(node);
    },
    recordEvents: (events) => recorder.recordAll(events),
  });
  const updateSoon = (): void => status.updateSoon();
  const optional = [devices, shutdown].flatMap((each) => each ?? []);
  const subscriptions = [readiness, storage, pressure, attachments, ...optional].map((each) =>
    each.subscribe(updateSoon),
  );
  const live = async (until: AbortSignal): Promise<void> => {
    const { registration, events } = await registered(settings, compose, deps, until);
    if (registration.kind === 'created') nodeChannel.publish({ kind: 'created' });
    if (registration.kind !== 'absent') {
      publishReady(registration.node);
      cache.onObserved(registration.node);
    }
    recorder.recordAll([...events, ...readyEvents(registration, settings)]);
    const lease = new NodeLease(settings, deps);
    await runAllOrAbort(
      [(each) => cache.watch(deps, each), (each) => status.run(each), (each) => lease.run(each)],
      until,
    );
  };
  try {
    // The first status should have the runtime's actual state, not that it was never queried.
    await readiness.check(signal);
    await runAllOrAbort([(each) => readiness.run(each), live], signal);
  } catch (error) {
    if (!signal.aborted) throw error;
  } finally {
    for (const unsubscribe of subscriptions) unsubscribe();
  }
}

async function registered(
  settings: NodeSettings,
  compose: (before: Node, signal: AbortSignal) => Promise<ComposedNode>,
  deps: NodeManagerDeps,
  signal: AbortSignal,
): Promise<{ readonly registration: Registration; readonly events: readonly NodeEvent[] }> {
  let events: readonly NodeEvent[] = [];
  const composeInitial = async (): Promise<Node> => {
    const composed = await compose(initialNode(settings), signal);
    events = composed.events;
    return composed.node;
  };
  nodeChannel.publish({ kind: 'registering' });
  const { machineId } = await deps.gatherer.identity();
  const resetsDevices = deps.devices?.isNewMachine ?? false;
  const registration = await registerNode({ ...settings, machineId, resetsDevices }, composeInitial, deps, signal);
  return { registration, events };
}

/** kubelet creates its node before it is ready, so a node that is created ready gets the `NodeReady` event too. */
function readyEvents(registration: Registration, { nodeName }: NodeSettings): readonly NodeEvent[] {
  if (registration.kind !== 'created') return [];
  return isReady(registration.node) ? [nodeStatusEvent(nodeName, 'NodeReady')] : [];
}

function isReady({ status }: Node): boolean {
  return status?.conditions?.find(({ type }) => type === 'Ready')?.status === 'True';
}

function publishReady(node: Node): void {
  if (isReady(node)) nodeChannel.publish({ kind: 'ready' });
}

/** Records a reboot once, even if the status had to be composed several times. */
class NodeEventRecorder {
  readonly #events: NodeEvents;
  #hasRecordedReboot = false;

  constructor(events: NodeEvents) {
    this.#events = events;
  }

  recordAll(events: readonly NodeEvent[]): void {
    for (const { type, reason, message } of events) {
      if (reason === 'Rebooted' && this.#hasRecordedReboot) continue;
      this.#hasRecordedReboot ||= reason === 'Rebooted';
      this.#events.record(type, reason, message);
    }
  }
}
