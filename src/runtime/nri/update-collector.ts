import { AdjustmentError } from './adjustment-error.ts';
import { applyResources } from './apply-resources.ts';
import { resourceClaims } from './claims.ts';
import { ConflictError, type FieldOwners } from './field-owners.ts';
import { ContainerUpdate, LinuxResources } from './generated/nri-v1alpha1.ts';
import { mergeResources } from './merge-adjustments.ts';
import type { NriUpdate } from './nri.ts';

const NO_RESOURCES = { devices: [] };

/** Combines container updates of several plugins in one request. */
export class UpdateCollector {
  readonly #owners: FieldOwners;
  readonly #updates = new Map<string, { readonly resources: LinuxResources; readonly ignoreFailure: boolean }>();

  constructor(owners: FieldOwners) {
    this.#owners = owners;
  }

  /** Throws for an invalid update, unless the plugin ignores failures. */
  add(update: ContainerUpdate, plugin: string): void {
    const { containerId, linux, ignoreFailure } = update;
    const change = linux?.resources ?? LinuxResources.create();
    try {
      applyResources(NO_RESOURCES, change);
      this.#owners.claim(containerId, resourceClaims(change), plugin);
    } catch (error) {
      const isInvalid = error instanceof ConflictError || error instanceof AdjustmentError;
      if (isInvalid && ignoreFailure) return;
      throw error;
    }
    const before = this.#updates.get(containerId);
    this.#updates.set(containerId, {
      resources: before ? mergeResources(before.resources, change) : change,
      ignoreFailure: ignoreFailure && (before?.ignoreFailure ?? true),
    });
  }

  messages(): ContainerUpdate[] {
    return [...this.#updates].map(([containerId, { resources, ignoreFailure }]) =>
      ContainerUpdate.create({ containerId, linux: { resources }, ignoreFailure }),
    );
  }

  updates(): readonly NriUpdate[] {
    return this.messages().map(nriUpdate);
  }
}

/** Converts an update for the runtime. Throws `AdjustmentError`. */
export function nriUpdate({ containerId, linux, ignoreFailure }: ContainerUpdate): NriUpdate {
  return {
    containerId,
    resources: applyResources(NO_RESOURCES, linux?.resources ?? LinuxResources.create()),
    ignoreFailure,
  };
}
