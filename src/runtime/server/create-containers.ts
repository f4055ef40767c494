import { aborted } from '../../base/aborted.ts';
import type { ContainerStatus } from '../../cri/generated/runtime-v1.ts';
import type { RuntimeService } from '../../cri/services.ts';
import type { ContainerDeps } from '../container/container-deps.ts';
import { ContainerStore } from '../container/container-store.ts';
import { containerStatusMessage } from '../container/container-messages.ts';
import { terminateContainer } from '../container/terminate-container.ts';
import { ExitWatcher } from '../container/exit-watcher.ts';
import { recoverContainers } from '../container/recover-containers.ts';
import { deleteContainer } from '../container/delete-container.ts';
import { createExitNotifier } from '../container/notify-exit.ts';
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
  /** Read-only: for exec with streams, statistics and NRI. Those that are just being made are not found. */
  readonly records: Pick<RecordStore<ContainerRecord>, 'all' | 'find'>;
  /** What NRI plugins may ask for by themselves. */
  readonly nri: Pick<NriRuntime, 'containers' | 'update' | 'evict'>;
  /** Once, after the sandboxes are put right and before the first verb. */
  recover(signal: AbortSignal): Promise<void>;
  /** Resolves when the signal has aborted and nobody watches any more; containers go on. */
  run(signal: AbortSignal): Promise<void>;
}

/** Starts nothing: `recover` does. */
export function createContainers(deps: ContainerDeps): Containers {
  const { log } = deps;
  const store = new ContainerStore(deps.records.store, deps.sandboxes);
  const update = applyUpdates({ ...deps, store });
  const tell = createExitNotifier({ ...deps, applyUpdates: update });
  const live = new ExitWatcher({ ...deps, store, notifyExit: tell });
  const parts = { ...deps, store, live, notifyExit: tell, applyUpdates: update };
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
        forAll(store.idsOfSandbox(sandboxId), (id) => terminateContainer(id, 0, parts, signal)),
      removeAll: (sandboxId, signal) => forAll(store.idsOfSandbox(sandboxId), (id) => deleteContainer(id, parts, signal)),
      statuses: (sandboxId) => statusesOf(sandboxId, store, deps),
    },
    records: store,
    nri: {
      containers: () => [...store.all.values()].filter(({ state }) => state.phase !== 'creating'),
      update: (wanted, signal) => update([{ ...wanted, ignoreFailure: false }], signal),
      async evict(id, reason, signal) {
        log.info('an NRI plugin evicts a container', { containerId: id, reason });
        await terminateContainer(id, 0, parts, signal);
      },
    },
    recover: (signal) => recoverContainers(parts, signal),
    run: async (signal) => {
      await aborted(signal);
      await live.close();
    },
  };
}

/** All are tried, and all have ended when this rejects. */
async function forAll(ids: ReadonlySet<string>, work: (id: string) => Promise<void>): Promise<void> {
  const ended = await Promise.allSettled([...ids].map(work));
  const failures = ended.flatMap((each) => (each.status === 'rejected' ? [each.reason] : []));
  if (failures.length === 1) throw failures[0];
  if (failures.length > 1) throw new AggregateError(failures);
}

function statusesOf(
  sandboxId: string,
  store: ContainerStore,
  { images }: Pick<ContainerDeps, 'images'>,
): readonly ContainerStatus[] {
  return [...store.all.values()]
    .filter((record) => record.sandboxId === sandboxId && record.state.phase !== 'creating')
    .map((record) => containerStatusMessage(record, images.find(record.imageId)));
}
