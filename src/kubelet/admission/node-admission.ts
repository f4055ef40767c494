import type { Node, Pod } from '../../api/generated/core-v1.ts';
import { amountsOf } from '../../api/pod-resources.ts';
import type { PodEvents } from '../events/pod-events.ts';
import { type PodFailure, rejectedStatusMessage } from '../pod/pod-failure.ts';
import { admitPod } from './admit-pod.ts';
import type { AdmissionView } from './pod-admit-handler.ts';

/** The node as admission sees it, without the other pods. */
export type NodeFacts = Omit<AdmissionView, 'otherPods'>;

/** Decides whether a pod may run on this node, by the node object of the API server where there is one. */
export class NodeAdmission {
  readonly #node: NodeFacts;
  readonly #registered: () => Node | undefined;
  readonly #pressure: (pod: Pod) => AdmissionView['pressure'];

  /**
   * `registered`: the node object as the API server has it; `undefined` while it is not known. `pressure`: the conditions
   * that the node is under, none for a pod that already runs.
   */
  constructor(node: NodeFacts, registered: () => Node | undefined, pressure: (pod: Pod) => AdmissionView['pressure']) {
    this.#node = node;
    this.#registered = registered;
    this.#pressure = pressure;
  }

  /** Returns why the pod cannot run beside the others; `undefined` admits it. */
  admit(pod: Pod, otherPods: readonly Pod[]): PodFailure | undefined {
    const node = withRegisteredNode(this.#node, this.#registered());
    const rejection = admitPod(pod, { ...node, pressure: this.#pressure(pod), otherPods });
    return rejection && { phase: 'Failed', ...rejection };
  }
}

export interface RejectionDeps {
  readonly events: Pick<PodEvents, 'record'>;
  readonly publisher: { publish(pod: Pod, worker: 'terminated', failure: PodFailure): unknown };
}

/** Reports a rejected pod as kubelet does: with an event and with the pod's status. */
export function rejectPod(pod: Pod, rejection: PodFailure, { events, publisher }: RejectionDeps): void {
  events.record(pod, 'Warning', rejection.reason, rejection.message);
  publisher.publish(pod, 'terminated', { ...rejection, message: rejectedStatusMessage(rejection.message) });
}

/** Labels and allocatable resources of the registered node take precedence, as they do for the scheduler. */
export function withRegisteredNode(own: NodeFacts, registered: Node | undefined): NodeFacts {
  if (!registered) return own;
  const { metadata, status } = registered;
  const labelled = { ...own, labels: metadata.labels ?? {} };
  if (!status?.allocatable) return labelled;
  const allocatable = amountsOf(status.allocatable);
  const maxPods = allocatable.get('pods')?.value();
  return { ...labelled, allocatable, ...(maxPods !== undefined && { maxPods: Number(maxPods) }) };
}
