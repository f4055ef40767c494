import type { OciLinux, OciMount } from '../oci/oci-spec.ts';
import { adjustKeyed, markedChanges } from './adjust-keyed.ts';
import type { Mount } from './generated/nri-v1alpha1.ts';

/** Parents before children: a mount must not hide an earlier one. */
export function adjustMounts(mounts: readonly OciMount[], requested: readonly Mount[]): readonly OciMount[] {
  if (requested.length === 0) return mounts;
  const changes = markedChanges(requested, ({ destination }) => destination, ociMount);
  const adjusted = adjustKeyed(mounts, ({ destination }) => destination, changes);
  return adjusted.toSorted((a, b) => depth(a.destination) - depth(b.destination));
}

function depth(destination: string): number {
  return destination.split('/').filter((part) => part !== '' && part !== '.').length;
}

function ociMount({ destination, type, source, options }: Mount): OciMount {
  return {
    destination,
    options,
    ...(type === '' ? {} : { type }),
    ...(source === '' ? {} : { source }),
  };
}

/** A mount with propagation needs a root that allows it. */
export function rootfsPropagation(
  propagation: string | undefined,
  requested: readonly Mount[],
): Pick<OciLinux, 'rootfsPropagation'> {
  const options = new Set(requested.flatMap((mount) => (mount.destination.startsWith('-') ? [] : mount.options)));
  if (options.has('rshared')) return { rootfsPropagation: 'rshared' };
  if (options.has('rslave') && propagation !== 'rshared') return { rootfsPropagation: 'rslave' };
  return {};
}
