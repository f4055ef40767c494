import { Field, OwningPlugins } from './generated/nri-v1alpha1.ts';
import { enumName } from './plain-values.ts';

/** A plugin claims a field, or one key of it. */
export interface Claim {
  readonly field: Field;
  readonly key?: string;
  /** Removes a value of another plugin, and may set it again. */
  readonly isRemoval?: boolean;
}

/** Two plugins set the same field. */
export class ConflictError extends Error {
  override readonly name = 'ConflictError';
}

interface Owner {
  readonly claim: Claim;
  readonly plugin: string;
}

/** The owner of each field, for one request. */
export class FieldOwners {
  readonly #owners = new Map<string, Map<string, Owner>>();

  /** Claims all or, with `ConflictError`, none. */
  claim(containerId: string, claims: readonly Claim[], plugin: string): void {
    const owners = this.#owners.get(containerId) ?? new Map<string, Owner>();
    const removed = new Set(claims.filter(({ isRemoval }) => isRemoval).map(claimName));
    const sets = claims.filter(({ isRemoval }) => !isRemoval);
    for (const claim of sets) {
      const owner = owners.get(claimName(claim));
      if (owner === undefined || owner.plugin === plugin || removed.has(claimName(claim)) || isShared(claim)) continue;
      throw new ConflictError(
        `plugins ${JSON.stringify(plugin)} and ${JSON.stringify(owner.plugin)} both tried to set ${claimName(claim)}`,
      );
    }
    for (const claim of [...claims.filter(({ isRemoval }) => isRemoval), ...sets]) {
      const before = owners.get(claimName(claim));
      const together = isShared(claim) && before ? `${before.plugin},${plugin}` : plugin;
      owners.set(claimName(claim), { claim, plugin: together });
    }
    this.#owners.set(containerId, owners);
  }

  /** Returns the owners for validating plugins. A removal is marked with `-`. */
  message(): OwningPlugins {
    const message = OwningPlugins.create();
    for (const [id, owners] of this.#owners) {
      const fields = { simple: {} as Record<number, string>, compound: {} as Record<number, Compound> };
      for (const { claim, plugin } of owners.values()) {
        const name = claim.isRemoval ? `-${plugin}` : plugin;
        if (claim.key === undefined) fields.simple[claim.field] = name;
        else {
          fields.compound[claim.field] ??= { owners: {} };
          const compound = fields.compound[claim.field];
          if (compound) compound.owners[claim.key] = name;
        }
      }
      message.owners[id] = fields;
    }
    return message;
  }
}

interface Compound {
  readonly owners: Record<string, string>;
}

/** Hooks of several plugins are combined. */
function isShared({ field }: Claim): boolean {
  return field === Field.OciHooks;
}

/** Returns `Annotations example.com/key` or `MemLimit`. */
function claimName({ field, key }: Claim): string {
  const name = enumName(Field, field, 'field');
  return key === undefined ? name : `${name} ${key}`;
}
