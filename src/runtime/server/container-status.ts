import { goJson } from '../../cri/cri-message-json.ts';
import { ContainerStatusResponse } from '../../cri/generated/runtime-v1.ts';
import type { RuntimeService } from '../../cri/services.ts';
import type { ContainerDeps } from '../container/container-deps.ts';
import { containerNotFound } from '../container/container-errors.ts';
import { readBundleConfig } from '../container/container-files.ts';
import { containerStatusMessage } from '../container/container-messages.ts';
import type { ContainerStore } from '../container/container-store.ts';
import type { ContainerRecord } from '../store/container-record.ts';

export type StatusDeps = Pick<ContainerDeps, 'fs' | 'paths' | 'images' | 'snapshots' | 'runtimes'> & {
  readonly store: ContainerStore;
};

export function containerStatus(deps: StatusDeps): RuntimeService['containerStatus'] {
  return async ({ containerId, verbose }) => {
    const record = deps.store.find(containerId);
    if (!record) throw containerNotFound(containerId);
    return ContainerStatusResponse.create({
      status: containerStatusMessage(record, deps.images.find(record.imageId)),
      info: verbose ? { info: JSON.stringify(await verboseInfo(record, deps)) } : {},
    });
  };
}

/** `info` of `crictl inspect`, in containerd's format. */
async function verboseInfo(record: ContainerRecord, deps: StatusDeps): Promise<Readonly<Record<string, unknown>>> {
  const { id, sandboxId, config, state, spec, runtimeHandler } = record;
  return {
    sandboxID: sandboxId,
    pid: state.phase === 'running' ? state.pid : 0,
    removing: false,
    snapshotKey: id,
    snapshotter: deps.snapshots.driver,
    runtimeType: deps.runtimes.handler(runtimeHandler)?.program ?? '',
    runtimeOptions: null,
    config: goJson(config),
    // The record has no seccomp profile; after a reboot there is no bundle.
    runtimeSpec: (await readBundleConfig(id, deps)) ?? spec,
  };
}
