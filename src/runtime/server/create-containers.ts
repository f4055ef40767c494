import { aborted } from '../../base/aborted.ts';
import type { ContainerStatus } from '../../cri/generated/runtime-v1.ts';
import type { RuntimeService } from '../../cri/services.ts';
import type { ContainerDeps } from '../container/container-deps.ts';
import { containerStatusMessage } from '../container/container-messages.ts';
import { ContainerStore } from '../container/container-store.ts';
import { deleteContainer } from '../container/delete-container.ts';
import { ExitWatcher } from '../container/exit-watcher.ts';
import { createExitNotifier } from '../container/notify-plugins.ts';
import { recoverContainers } from '../container/recover-containers.ts';
import { terminateContainer } from '../container/terminate-container.ts';
import { applyUpdates } from '../container/update-resources.ts';
import type { NriRuntime } from '../nri/nri.ts';
import type { SandboxContainers } from '../sandbox/sandbox-deps.ts';
import type { ContainerRecord } from '../store/container-record.ts';
import type { RecordStore } from '../store/record-store.ts';
import { checkpointContainer } from './checkpoint-container.ts';
import { containerStatus } from './container-status.ts';
import { createContainer } from './create-container.ts';
import { execSync } from './exec-sync.ts';
import { listContainers } from './list-containers.ts';
import { removeContainer } from './remove-container.ts';
import { reopenContainerLog } from './reopen-container-log.ts';
import { startContainer } from './start-container.ts';
import { stopContainer } from './stop-container.ts';
import { updateContainerResources } from './update-container-resources.ts';

export type ContainerVerbs = Pick<
  RuntimeService,
  | 'createContainer'
  | 'startContainer'
  | 'stopContainer'
  | 'removeContainer'
  | 'containerStatus'
  | 'listContainers'
  | 'updateContainerResources'
  | 'execSync'
  | 'reopenContainerLog'
  | 'checkpointContainer'
>;

export interface Containers {
  readonly verbs: ContainerVerbs;
  /** For the verbs of sandboxes. */
  readonly ofSandbox: SandboxContainers;
  /** Read-only view for exec, statistics and NRI. `find` does not return containers being created. */
  readonly records: Pick<RecordStore<ContainerRecord>, 'all' | 'find'>;
  /** Requests that NRI plugins can make. */
  readonly nri: Pick<NriRuntime, 'containers' | 'update' | 'evict'>;
  /** Call once, after sandboxes are recovered and before the first verb. */
  recover(signal: AbortSignal): Promise<void>;
  /** Resolves when the signal has aborted and watching has stopped; containers keep running. */
  run(signal: AbortSignal): Promise<void>;
}

/** Starts no work: `recover` does. */
export function createContainers(deps: ContainerDeps): Containers {
  const { log } = deps;
  const store = new ContainerStore(deps.records.store, deps.sandboxes);
  const update = applyUpdates({ ...deps, store });
  const notifyExit = createExitNotifier({ ...deps, applyUpdates: update });
  const exitWatcher = new ExitWatcher({ ...deps, store, notifyExit });
  const parts = { ...deps, store, exitWatcher, notifyExit, applyUpdates: update };
  return {
    verbs: {
      createContainer: createContainer(parts),
      startContainer: startContainer(parts),
      stopContainer: stopContainer(parts),
      removeContainer: removeContainer(parts),
      containerStatus: containerStatus(parts),
      listContainers: listContainers(parts),
      updateContainerResources: updateContainerResources(parts),
      execSync: execSync(parts),
      reopenContainerLog: reopenContainerLog(parts),
      checkpointContainer: checkpointContainer(parts),
    },
    ofSandbox: {
      stopAll: (sandboxId, signal) =>
        forAll(store.listSandboxContainerIds(sandboxId), (id) => terminateContainer(id, 0, parts, signal)),
      removeAll: (sandboxId, signal) =>
        forAll(store.listSandboxContainerIds(sandboxId), (id) => deleteContainer(id, parts, signal)),
      statuses: (sandboxId) => containerStatuses(sandboxId, store, deps),
    },
    records: store,
    nri: {
      containers: () => [...store.all.values()].filter(({ state }) => state.phase !== 'creating'),
      update: (wanted, signal) => update([{ ...wanted, ignoreFailure: false }], signal),
      async evict(id, reason, signal) {
        log.info('evicting container for NRI plugin', { containerId: id, reason });
        await terminateContainer(id, 0, parts, signal);
      },
    },
    recover: (signal) => recoverContainers(parts, signal),
    run: async (signal) => {
      await aborted(signal);
      await exitWatcher.close();
    },
  };
}

/** Runs all of them, and rejects after all have settled. */
async function forAll(ids: ReadonlySet<string>, work: (id: string) => Promise<void>): Promise<void> {
  const ended = await Promise.allSettled([...ids].map(work));
  const failures = ended.flatMap((each) => (each.status === 'rejected' ? [each.reason] : []));
  if (failures.length === 1) throw failures[0];
  if (failures.length > 1) throw new AggregateError(failures);
}

function containerStatuses(
  sandboxId: string,
  store: ContainerStore,
  { images }: Pick<ContainerDeps, 'images'>,
): readonly ContainerStatus[] {
  return [...store.all.values()]
    .filter((record) => record.sandboxId === sandboxId && record.state.phase !== 'creating')
    .map((record) => containerStatusMessage(record, images.find(record.imageId)));
}
