import type { OciLinux, OciMount } from '../oci/oci-spec.ts';
import { adjustKeyed, markedChanges } from './adjust-keyed.ts';
import type { Mount } from './generated/nri-v1alpha1.ts';

/** Outer places before inner ones: a mount must not hide one that was made before it. */
export function adjustMounts(mounts: readonly OciMount[], asked: readonly Mount[]): readonly OciMount[] {
  if (asked.length === 0) return mounts;
  const changes = markedChanges(asked, ({ destination }) => destination, ociMount);
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

/** A mount that is to see (or show) later mounts needs a root that lets them through. */
export function rootfsPropagation(
  propagation: string | undefined,
  asked: readonly Mount[],
): Pick<OciLinux, 'rootfsPropagation'> {
  const options = new Set(asked.flatMap((mount) => (mount.destination.startsWith('-') ? [] : mount.options)));
  if (options.has('rshared')) return { rootfsPropagation: 'rshared' };
  if (options.has('rslave') && propagation !== 'rshared') return { rootfsPropagation: 'rslave' };
  return {};
}
