import type { Node, Pod } from '../../api/generated/core-v1.ts';
import { amountsOf } from '../../api/pod-resources.ts';
import { withDevicesInUse, withPluginDevices } from '../device-manager/devices-in-use.ts';
import type { PodEvents } from '../events/pod-events.ts';
import type { DeviceCounts } from '../node/status/node-resources.ts';
import { type PodFailure, rejectedStatusMessage } from '../pod/pod-failure.ts';
import { rejectionChannel } from '../pod/rejection-channel.ts';
import { type AdmissionDecision, admitPod } from './admit-pod.ts';
import type { AdmissionView } from './pod-admit-handler.ts';

/** The node as admission sees it, without the other pods. */
export type NodeFacts = Omit<AdmissionView, 'otherPods' | keyof NodeState>;

/** What changes while the agent runs. */
export interface NodeState extends Pick<AdmissionView, 'isShuttingDown' | 'pressure'> {
  /** The devices of plugins: a node that no API server knows has them, too. */
  readonly devices?: DeviceCounts | undefined;
  /** The number of devices in use by resource, for a pod that has some of them already. */
  readonly devicesInUse?: ReadonlyMap<string, number> | undefined;
}

/** Decides whether a pod may run on this node, by the node object of the API server where there is one. */
export class NodeAdmission {
  readonly #node: NodeFacts;
  readonly #registered: () => Node | undefined;
  readonly #state: (pod: Pod) => NodeState;

  /**
   * `registered`: the node object as the API server has it; `undefined` while it is not known. `state`: what the node is like for
   * a pod now.
   */
  constructor(node: NodeFacts, registered: () => Node | undefined, state: (pod: Pod) => NodeState) {
    this.#node = node;
    this.#registered = registered;
    this.#state = state;
  }

  /** Decides whether the pod can run beside the others. */
  decide(pod: Pod, otherPods: readonly Pod[]): AdmissionDecision {
    const registered = this.#registered();
    const { devices, devicesInUse, ...state } = this.#state(pod);
    const node = withRegisteredNode(this.#node, registered);
    const hasDevices = registered?.status?.allocatable !== undefined;
    const counted = hasDevices ? node.allocatable : withPluginDevices(node.allocatable, devices);
    const allocatable = withDevicesInUse(counted, devicesInUse);
    return admitPod(pod, { ...node, ...state, allocatable, otherPods });
  }
}

export interface RejectionDeps {
  readonly events: Pick<PodEvents, 'recordFailure'>;
  readonly publisher: { publish(pod: Pod, worker: 'terminated', failure: PodFailure): unknown };
}

/** Reports a rejected pod as kubelet does: with an event and with the pod's status. */
export function rejectPod(pod: Pod, rejection: PodFailure, { events, publisher }: RejectionDeps): void {
  rejectionChannel.publish({ reason: rejection.reason });
  events.recordFailure(pod, 'Warning', rejection);
  publisher.publish(pod, 'terminated', { ...rejection, message: rejectedStatusMessage(rejection.message) });
}

/** Labels, taints and allocatable resources of the registered node take precedence, as they do for the scheduler. */
export function withRegisteredNode(own: NodeFacts, registered: Node | undefined): NodeFacts {
  if (!registered) return own;
  const { metadata, spec, status } = registered;
  const labelled = { ...own, labels: metadata.labels ?? {}, taints: spec?.taints };
  if (!status?.allocatable) return labelled;
  const allocatable = amountsOf(status.allocatable);
  const maxPods = allocatable.get('pods')?.value();
  return { ...labelled, allocatable, ...(maxPods !== undefined && { maxPods: Number(maxPods) }) };
}
