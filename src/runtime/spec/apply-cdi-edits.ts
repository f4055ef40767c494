import { posix } from 'node:path';
import type { CdiDeviceNode, CdiEdits, CdiHook, CdiMount } from '../cdi/cdi-spec.ts';
import type { OciDevice, OciDeviceRule, OciHook, OciHooks, OciMount, OciProcess, OciSpec } from '../oci/oci-spec.ts';
import { mergeEnvironment } from './environment.ts';

/** Applies the edits in order; of two that set the same, the later wins. */
export function applyCdiEdits(spec: OciSpec, edits: readonly CdiEdits[]): OciSpec {
  return edits.reduce(applyEdit, spec);
}

function applyEdit(spec: OciSpec, edits: CdiEdits): OciSpec {
  const { process, linux } = spec;
  const devices = edits.deviceNodes.map((node) => ociDevice(node, process));
  const hooks = edits.hooks.reduce(withHook, spec.hooks);
  const gids = [...new Set([...process.user.additionalGids, ...edits.additionalGids])];
  return {
    ...spec,
    process: {
      ...process,
      env: mergeEnvironment(process.env, edits.env),
      user: { ...process.user, additionalGids: gids },
    },
    mounts: withMounts(spec.mounts, edits.mounts),
    ...(hooks && { hooks }),
    linux: {
      ...linux,
      devices: [...without(linux.devices, devices, ({ path }) => path), ...devices],
      resources: {
        ...linux.resources,
        devices: [...linux.resources.devices, ...edits.deviceNodes.flatMap(deviceRules)],
      },
      ...(edits.intelRdt && { intelRdt: edits.intelRdt }),
    },
  };
}

/** Without an owner, the device belongs to the container's user. */
function ociDevice(node: CdiDeviceNode, { user }: OciProcess): OciDevice {
  const { path, type = 'c', major, minor, fileMode, uid = user.uid, gid = user.gid } = node;
  return {
    path,
    type,
    ...(major !== undefined && { major }),
    ...(minor !== undefined && { minor }),
    ...(fileMode !== undefined && { fileMode }),
    uid,
    gid,
  };
}

function deviceRules({ type = 'c', major, minor, permissions }: CdiDeviceNode): OciDeviceRule[] {
  if (type !== 'c' && type !== 'b') return [];
  const numbers = { ...(major !== undefined && { major }), ...(minor !== undefined && { minor }) };
  return [{ allow: true, type, ...numbers, access: permissions }];
}

function withMounts(mounts: readonly OciMount[], added: readonly CdiMount[]): readonly OciMount[] {
  if (added.length === 0) return mounts;
  const own = added.map(
    ({ hostPath, containerPath, type, options }): OciMount => ({
      destination: containerPath,
      source: hostPath,
      ...(type !== '' && { type }),
      options,
    }),
  );
  const all = [...without(mounts, own, ({ destination }) => posix.normalize(destination)), ...own];
  return all.sort((a, b) => depth(a.destination) - depth(b.destination));
}

function withHook(hooks: OciHooks | undefined, { hookName, path, args, env, timeout }: CdiHook): OciHooks {
  const hook: OciHook = { path, args, env, ...(timeout !== undefined && { timeout }) };
  return { ...hooks, [hookName]: [...(hooks?.[hookName] ?? []), hook] };
}

function without<T>(list: readonly T[], replaced: readonly T[], key: (item: T) => string): T[] {
  const keys = new Set(replaced.map(key));
  return list.filter((item) => !keys.has(key(item)));
}

function depth(path: string): number {
  return posix.normalize(path).split('/').filter(Boolean).length;
}
