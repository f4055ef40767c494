import { Field, OwningPlugins } from './generated/nri-v1alpha1.ts';
import { nameOfValue } from './plain-values.ts';

/** A plugin takes a field, or one key of it, for itself. */
export interface Claim {
  readonly field: Field;
  readonly key?: string;
  /** It takes away what another plugin set, and may set it anew itself. */
  readonly isRemoval?: boolean;
}

/** Two plugins want the same. */
export class ConflictError extends Error {
  override readonly name = 'ConflictError';
}

interface Owner {
  readonly claim: Claim;
  readonly plugin: string;
}

/** Which plugin set what, for one request. */
export class FieldOwners {
  readonly #owners = new Map<string, Map<string, Owner>>();

  /** All of them or, with a `ConflictError`, none. */
  claim(containerId: string, claims: readonly Claim[], plugin: string): void {
    const owners = this.#owners.get(containerId) ?? new Map<string, Owner>();
    const removed = new Set(claims.filter(({ isRemoval }) => isRemoval).map(nameOf));
    const sets = claims.filter(({ isRemoval }) => !isRemoval);
    for (const claim of sets) {
      const owner = owners.get(nameOf(claim));
      if (owner === undefined || owner.plugin === plugin || removed.has(nameOf(claim)) || isShared(claim)) continue;
      throw new ConflictError(
        `plugins ${JSON.stringify(plugin)} and ${JSON.stringify(owner.plugin)} both tried to set ${nameOf(claim)}`,
      );
    }
    for (const claim of [...claims.filter(({ isRemoval }) => isRemoval), ...sets]) {
      const before = owners.get(nameOf(claim));
      const together = isShared(claim) && before ? `${before.plugin},${plugin}` : plugin;
      owners.set(nameOf(claim), { claim, plugin: together });
    }
    this.#owners.set(containerId, owners);
  }

  /** As plugins that validate are told. A removal is told with a marked name. */
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

/** Hooks add up. */
function isShared({ field }: Claim): boolean {
  return field === Field.OciHooks;
}

/** `Annotations example.com/key`, `MemLimit` */
function nameOf({ field, key }: Claim): string {
  const name = nameOfValue(Field, field, 'field');
  return key === undefined ? name : `${name} ${key}`;
}
