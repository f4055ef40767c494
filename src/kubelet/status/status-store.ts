import { isDeepStrictEqual } from 'node:util';
import type { Pod, PodStatus } from '../../api/generated/core-v1.ts';
import { isTerminal } from './pod-phase.ts';

/** A status and its version: a reader that acted on a version can see whether there is a newer one. */
export interface VersionedStatus {
  readonly pod: Pod;
  readonly status: PodStatus;
  /** 1 for the first status of a pod; grows by one with every change. */
  readonly version: number;
}

/** Called synchronously, in the order of the changes. It must not throw, and not write to the store. */
export type StatusListener = (changed: VersionedStatus) => void;

/**
 * The computed statuses of all pods.
 * 1. One writer for each pod: its worker. All other components read.
 * 2. A version stands for one value; writing an equal value changes nothing and calls no listener.
 * 3. A terminal phase is never left: a status with another phase keeps the terminal one, its reason and its message.
 */
export class StatusStore {
  readonly #pods = new Map<string, VersionedStatus>();
  readonly #listeners = new Set<StatusListener>();

  /** Returns whether the status changed. */
  update(pod: Pod, status: PodStatus): boolean {
    const before = this.#pods.get(pod.metadata.uid);
    const next = before ? keepingTerminalPhase(before.status, status) : status;
    if (before && isDeepStrictEqual(before.status, next)) return false;
    const changed = { pod, status: next, version: (before?.version ?? 0) + 1 };
    this.#pods.set(pod.metadata.uid, changed);
    for (const listener of this.#listeners) listener(changed);
    return true;
  }

  get(uid: string): VersionedStatus | undefined {
    return this.#pods.get(uid);
  }

  /** Removes the status; a later pod with the same UID starts at version 1. */
  remove(uid: string): void {
    this.#pods.delete(uid);
  }

  /** Returns the function that ends the subscription. */
  subscribe(listener: StatusListener): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }
}

function keepingTerminalPhase(before: PodStatus, next: PodStatus): PodStatus {
  if (!isTerminal(before.phase) || next.phase === before.phase) return next;
  const { reason: _reason, message: _message, ...rest } = next;
  const { phase, reason, message } = before;
  return { ...rest, phase, ...(reason && { reason }), ...(message && { message }) };
}
