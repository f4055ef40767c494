import { CriError } from '../../cri/cri-error.ts';
import type { OciSpec } from '../oci/oci-spec.ts';
import type { ContainerRecord } from '../store/container-record.ts';
import { AdjustmentError } from './adjustment-error.ts';
import { applyAdjustment } from './apply-adjustment.ts';
import { adjustmentClaims } from './claims.ts';
import { ConflictError, FieldOwners } from './field-owners.ts';
import {
  ContainerAdjustment,
  type ContainerEviction,
  type ContainerUpdate,
  type PodSandbox,
  ValidateContainerAdjustmentRequest,
} from './generated/nri-v1alpha1.ts';
import { mergeAdjustments } from './merge-adjustments.ts';
import type { NriUpdate } from './nri.ts';
import { nriContainer } from './nri-container.ts';
import type { NriPlugin } from './nri-plugin.ts';
import { UpdateCollector } from './update-collector.ts';

/** Injects CDI devices into a specification; rejects for an unknown name. */
export type InjectCdiDevices = (spec: OciSpec, names: readonly string[], signal: AbortSignal) => Promise<OciSpec>;

export interface CreateRelay {
  readonly plugins: readonly NriPlugin[];
  readonly pod: PodSandbox;
  readonly container: ContainerRecord;
  readonly injectCdiDevices: InjectCdiDevices | undefined;
}

export interface CreateOutcome {
  readonly spec: OciSpec;
  readonly updates: readonly NriUpdate[];
  readonly evictions: readonly ContainerEviction[];
}

/**
 * Each plugin receives the container as adjusted by those before it. Two plugins that set the same field are a
 * conflict, and validating plugins decide last. Rejects with `CriError` that names the plugin.
 */
export async function relayCreate(relay: CreateRelay, spec: OciSpec, signal: AbortSignal): Promise<CreateOutcome> {
  const { plugins, pod, container } = relay;
  const owners = new FieldOwners();
  const updates = new UpdateCollector(owners);
  const evictions: ContainerEviction[] = [];
  let adjusted = spec;
  let merged = ContainerAdjustment.create();
  for (const plugin of plugins) {
    const request = { pod, container: nriContainer(container, adjusted) };
    const response = await plugin.request('createContainer', request, signal);
    if (response === undefined) continue;
    const { adjust, update, evict } = response;
    try {
      if (adjust) {
        owners.claim(container.id, adjustmentClaims(adjust), plugin.name);
        adjusted = await withAdjustment(adjusted, adjust, relay, signal);
        merged = mergeAdjustments(merged, adjust);
      }
      for (const each of update) addUpdate(updates, each, plugin, container.id);
    } catch (error) {
      throw asCriError(plugin, error);
    }
    evictions.push(...evict);
  }
  await validate(relay, nriContainer(container, spec), { merged, updates, owners }, signal);
  return { spec: adjusted, updates: updates.updates(), evictions };
}

async function withAdjustment(
  spec: OciSpec,
  adjust: ContainerAdjustment,
  { injectCdiDevices }: CreateRelay,
  signal: AbortSignal,
): Promise<OciSpec> {
  const names = adjust.CDIDevices.map(({ name }) => name);
  if (names.length === 0) return applyAdjustment(spec, adjust);
  if (!injectCdiDevices) throw new AdjustmentError('CDI_devices', 'CDI devices are not supported');
  return injectCdiDevices(spec, names, signal).then((injected) =>
    applyAdjustment(injected, { ...adjust, CDIDevices: [] }),
  );
}

function addUpdate(updates: UpdateCollector, update: ContainerUpdate, plugin: NriPlugin, creating: string): void {
  if (update.containerId === creating) {
    throw new AdjustmentError('update', `container ${creating} is still being created`);
  }
  updates.add(update, plugin.name);
}

async function validate(
  { plugins, pod }: CreateRelay,
  container: ReturnType<typeof nriContainer>,
  result: { readonly merged: ContainerAdjustment; readonly updates: UpdateCollector; readonly owners: FieldOwners },
  signal: AbortSignal,
): Promise<void> {
  const validators = plugins.filter((plugin) => plugin.wants('validateContainerAdjustment'));
  if (validators.length === 0) return;
  const request = ValidateContainerAdjustmentRequest.create({
    pod,
    container,
    adjust: result.merged,
    update: result.updates.messages(),
    owners: result.owners.message(),
    plugins: plugins.map(({ id }) => ({ name: id.base, index: id.index })),
  });
  await Promise.all(
    validators.map(async (plugin) => {
      const response = await plugin.request('validateContainerAdjustment', request, signal);
      // A validator that does not respond has not agreed.
      if (response === undefined) throw new CriError('Unknown', `validator plugin ${plugin.name} failed`);
      if (!response.reject) return;
      const reason = response.reason === '' ? 'unknown rejection reason' : response.reason;
      throw new CriError('Unknown', `validator "${plugin.name}" rejected container adjustment, reason: ${reason}`);
    }),
  );
}

/** Converts an invalid request of a plugin into an error of the operation. */
export function asCriError(plugin: { readonly name: string }, error: unknown): unknown {
  if (error instanceof ConflictError) return new CriError('Unknown', `NRI: ${error.message}`, { cause: error });
  if (!(error instanceof AdjustmentError)) return error;
  return new CriError('Unknown', `NRI plugin ${plugin.name}: ${error.message}`, { cause: error });
}
