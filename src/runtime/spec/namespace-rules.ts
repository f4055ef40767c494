import { invalidField } from '../../cri/field-error.ts';
import {
  type IDMapping,
  NamespaceMode,
  type NamespaceOption,
  type PodSandboxConfig,
  type UserNamespace,
} from '../../cri/generated/runtime-v1.ts';
import type { OciIdMapping } from '../oci/oci-spec.ts';

const FIELD = 'linux.security_context.namespace_options';

/** Checks what a sandbox may request, before `RunPodSandbox` creates anything. */
export function checkSandboxNamespaces(config: PodSandboxConfig): void {
  const options = config.linux?.securityContext?.namespaceOptions;
  if (options === undefined) return;
  requireMode('network', options.network, [NamespaceMode.POD, NamespaceMode.NODE]);
  requireMode('ipc', options.ipc, [NamespaceMode.POD, NamespaceMode.NODE]);
  requireMode('pid', options.pid, [NamespaceMode.POD, NamespaceMode.CONTAINER, NamespaceMode.NODE]);
  checkUserNamespace(options.usernsOptions);
  if (!hasUserNamespace(options)) return;
  for (const kind of ['network', 'pid', 'ipc'] as const) {
    if (options[kind] !== NamespaceMode.NODE) continue;
    throw invalidField(`${FIELD}.${kind}`, 'the namespace of the node cannot be used with a user namespace');
  }
}

/** Checks what a container may request: never more of the node's namespaces than its sandbox has. */
export function checkContainerNamespaces(requested: NamespaceOption | undefined, sandbox: PodSandboxConfig): void {
  const ofSandbox = sandbox.linux?.securityContext?.namespaceOptions;
  const options = requested ?? ofSandbox;
  if (options === undefined) return;
  requireMode('network', options.network, [NamespaceMode.POD, NamespaceMode.NODE]);
  requireMode('ipc', options.ipc, [NamespaceMode.POD, NamespaceMode.NODE]);
  requireMode('pid', options.pid, Object.values(NamespaceMode));
  for (const kind of ['network', 'pid', 'ipc'] as const) {
    if (options[kind] === NamespaceMode.NODE && ofSandbox?.[kind] !== NamespaceMode.NODE) {
      throw invalidField(`${FIELD}.${kind}`, 'the sandbox does not have the namespace of the node');
    }
  }
  if (options.pid === NamespaceMode.TARGET && options.targetId === '') {
    throw invalidField(`${FIELD}.target_id`, 'mode TARGET requires a container');
  }
  checkUserNamespace(options.usernsOptions);
  if (mappingsText(options.usernsOptions) !== mappingsText(ofSandbox?.usernsOptions)) {
    throw invalidField(`${FIELD}.userns_options`, 'the sandbox has a different user namespace');
  }
}

export function hasUserNamespace(options: NamespaceOption | undefined): boolean {
  return options?.usernsOptions?.mode === NamespaceMode.POD;
}

export function ociMappings(mappings: readonly IDMapping[]): OciIdMapping[] {
  return mappings.map(({ containerId, hostId, length }) => ({
    containerID: containerId,
    hostID: hostId,
    size: length,
  }));
}

function requireMode(kind: string, mode: NamespaceMode, allowed: readonly NamespaceMode[]): void {
  if (allowed.includes(mode)) return;
  const name = Object.entries(NamespaceMode).find(([, value]) => value === mode)?.[0] ?? `${mode}`;
  throw invalidField(`${FIELD}.${kind}`, `unsupported namespace mode ${name}`);
}

function checkUserNamespace(options: UserNamespace | undefined): void {
  if (options === undefined) return;
  const { mode, uids, gids } = options;
  requireMode('userns_options.mode', mode, [NamespaceMode.POD, NamespaceMode.NODE]);
  for (const [kind, mappings] of Object.entries({ uids, gids })) {
    const field = `${FIELD}.userns_options.${kind}`;
    if (mode === NamespaceMode.NODE && mappings.length > 0) throw invalidField(field, 'mode NODE allows no mappings');
    if (mode === NamespaceMode.POD) checkMappings(mappings, field);
  }
}

function checkMappings(mappings: readonly IDMapping[], field: string): void {
  if (!mappings.some(({ containerId }) => containerId === 0)) throw invalidField(field, 'no mapping for ID 0');
  for (const [index, { hostId, containerId, length }] of mappings.entries()) {
    if (length === 0) throw invalidField(`${field}[${index}].length`, 'must be greater than 0');
    const clash = mappings.slice(0, index).some((other) => {
      const inside = overlap(other.containerId, other.length, containerId, length);
      return inside || overlap(other.hostId, other.length, hostId, length);
    });
    if (clash) throw invalidField(`${field}[${index}]`, 'overlaps with an earlier mapping');
  }
}

function overlap(aStart: number, aLength: number, bStart: number, bLength: number): boolean {
  return aStart < bStart + bLength && bStart < aStart + aLength;
}

/** No options are equivalent to mode NODE. */
function mappingsText(options: UserNamespace | undefined): string {
  if (options?.mode !== NamespaceMode.POD) return '';
  return JSON.stringify([ociMappings(options.uids), ociMappings(options.gids)]);
}
