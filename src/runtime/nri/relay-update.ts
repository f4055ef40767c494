import type { OciResources } from '../oci/oci-spec.ts';
import type { ContainerRecord } from '../store/container-record.ts';
import { applyResources } from './apply-resources.ts';
import { resourceClaims } from './claims.ts';
import { FieldOwners } from './field-owners.ts';
import {
  type ContainerEviction,
  type ContainerUpdate,
  LinuxResources,
  type PodSandbox,
} from './generated/nri-v1alpha1.ts';
import type { NriUpdate } from './nri.ts';
import { nriContainer } from './nri-container.ts';
import type { NriPlugin } from './nri-plugin.ts';
import { nriResources } from './nri-resources.ts';
import { asCriError } from './relay-create.ts';
import { UpdateCollector } from './update-collector.ts';

export interface UpdateOutcome {
  readonly resources: OciResources;
  readonly updates: readonly NriUpdate[];
  readonly evictions: readonly ContainerEviction[];
}

/** Each plugin receives the resources as adjusted by those before it. Rejects with `CriError` that names the plugin. */
export async function relayUpdate(
  plugins: readonly NriPlugin[],
  pod: PodSandbox,
  container: ContainerRecord,
  resources: OciResources,
  signal: AbortSignal,
): Promise<UpdateOutcome> {
  const owners = new FieldOwners();
  const others = new UpdateCollector(owners);
  const evictions: ContainerEviction[] = [];
  let adjusted = resources;
  for (const plugin of plugins) {
    const request = { pod, container: nriContainer(container), linuxResources: nriResources(adjusted) };
    const response = await plugin.request('updateContainer', request, signal);
    if (response === undefined) continue;
    try {
      for (const update of response.update) {
        if (update.containerId !== container.id) others.add(update, plugin.name);
        else adjusted = withUpdate(adjusted, update, owners, plugin);
      }
    } catch (error) {
      throw asCriError(plugin, error);
    }
    evictions.push(...response.evict);
  }
  return { resources: adjusted, updates: others.updates(), evictions };
}

function withUpdate(
  resources: OciResources,
  { containerId, linux, ignoreFailure }: ContainerUpdate,
  owners: FieldOwners,
  plugin: NriPlugin,
): OciResources {
  const change = linux?.resources ?? LinuxResources.create();
  try {
    const changed = applyResources(resources, change);
    owners.claim(containerId, resourceClaims(change), plugin.name);
    return changed;
  } catch (error) {
    if (ignoreFailure) return resources;
    throw error;
  }
}
