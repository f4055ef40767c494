import type { Pod } from '../../src/api/generated/core-v1.ts';
import type { Effect } from '../../src/cri/fake/effects.ts';
import type { AgentEvent } from '../../src/kubelet/explain/agent-view.ts';
import type { CsiCall } from '../../src/plugins/fake/fake-csi-driver.ts';
import type { CheckContext } from './check-context.ts';
import { Invariants } from './invariants.ts';
import { checkClaimCall } from './invariants-of-claims.ts';
import { checkDiskCall } from './invariants-of-disks.ts';
import type { ClaimCall } from './sim-claims.ts';
import { effectLine } from './trace.ts';

/** Adds what happens in a world to its trace, and checks it. */
export class Observer {
  readonly invariants: Invariants;
  readonly #context: CheckContext;
  readonly #note: (line: string) => void;

  constructor(context: CheckContext, note: (line: string) => void) {
    this.invariants = new Invariants(context);
    this.#context = context;
    this.#note = note;
  }

  effect(effect: Effect): void {
    this.#note(effectLine(effect));
    this.invariants.effect(effect);
  }

  agentEvent(event: AgentEvent): void {
    if (event.kind === 'event' && event.event.reason === 'Preempting') this.#preempted(event.pod);
    if (event.kind !== 'status') return;
    const { pod, status } = event;
    this.#note(`status of ${pod.metadata.uid}: ${status.phase} ${status.reason ?? ''}`);
    this.invariants.status(pod.metadata.uid, status);
  }

  diskCall(call: CsiCall): void {
    this.#note(`  ${call.method} ${call.volumeId}`);
    checkDiskCall(call, this.#context);
  }

  claimCall(call: ClaimCall): void {
    this.#note(`  ${call.method} ${call.uid} ${call.driver}`);
    checkClaimCall(call, this.#context);
  }

  #preempted({ metadata: { uid } }: Pod): void {
    this.#note(`${uid} is preempted`);
    const record = this.#context.records.pods.get(uid);
    if (record) record.preemptedAt = this.#context.now();
  }
}
