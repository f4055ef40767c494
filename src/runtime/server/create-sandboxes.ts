import { aborted } from '../../base/aborted.ts';
import type { PodSandboxStatus } from '../../cri/generated/runtime-v1.ts';
import type { RuntimeService } from '../../cri/services.ts';
import { CleanupRetryQueue } from '../sandbox/cleanup-retry-queue.ts';
import { PauseWatcher } from '../sandbox/pause.ts';
import { sandboxFiles } from '../sandbox/plan-sandbox.ts';
import { networkedSandboxes, recoverSandboxes } from '../sandbox/recover-sandboxes.ts';
import type { SandboxDeps } from '../sandbox/sandbox-deps.ts';
import { sandboxStatusMessage } from '../sandbox/sandbox-messages.ts';
import { SandboxStore } from '../sandbox/sandbox-store.ts';
import type { SandboxFiles, SandboxRecord } from '../store/sandbox-record.ts';
import { listPodSandbox } from './list-pod-sandbox.ts';
import { podSandboxStatus } from './pod-sandbox-status.ts';
import { removePodSandbox } from './remove-pod-sandbox.ts';
import { runPodSandbox } from './run-pod-sandbox.ts';
import { stopPodSandbox } from './stop-pod-sandbox.ts';

export type SandboxVerbs = Pick<
  RuntimeService,
  'runPodSandbox' | 'stopPodSandbox' | 'removePodSandbox' | 'podSandboxStatus' | 'listPodSandbox'
>;

export interface Sandboxes {
  readonly verbs: SandboxVerbs;
  /** Call once, before any verb and before containers are recovered. */
  recover(signal: AbortSignal): Promise<void>;
  /** Watches the pause processes until the signal aborts, which is final. Call after containers are recovered. */
  run(signal: AbortSignal): Promise<void>;
  /** Retries failed cleanups until the signal aborts. May be called again afterwards. */
  runCleanups(signal: AbortSignal): Promise<void>;
  readonly view: SandboxView;
}

/** Read-only view for containers, events, statistics and NRI. */
export interface SandboxView {
  /** Includes sandboxes being created. */
  readonly all: ReadonlyMap<string, SandboxRecord>;
  find(idOrPrefix: string): SandboxRecord | undefined;
  filesOf(sandboxId: string): SandboxFiles;
  /** Status for events; also while a deletion event is published. */
  status(sandboxId: string): PodSandboxStatus | undefined;
}

export function createSandboxes(deps: SandboxDeps): Sandboxes {
  const store = new SandboxStore(deps.records.store, deps.events);
  const cleanups = new CleanupRetryQueue(deps);
  const pauses = new PauseWatcher({ ...deps, store, cleanups });
  const all = { ...deps, store, cleanups, pauses };
  return {
    verbs: {
      runPodSandbox: runPodSandbox(all),
      stopPodSandbox: stopPodSandbox(all),
      removePodSandbox: removePodSandbox(all),
      podSandboxStatus: podSandboxStatus(all),
      listPodSandbox: listPodSandbox(store),
    },
    recover: (signal) => recoverSandboxes(all, signal),
    async run(signal) {
      void deps.namespaces.warmUp();
      await Promise.all([collectNetworks(deps, store, signal), aborted(signal).then(() => pauses.close())]);
    },
    runCleanups: (signal) => cleanups.run(signal),
    view: {
      get all() {
        return store.all;
      },
      find: (idOrPrefix) => store.find(idOrPrefix),
      filesOf: (id) => sandboxFiles(store.all.get(id) ?? { id, namespaces: {}, filesOnDisk: true }, deps.paths),
      status(id) {
        const record = store.recordForEvent(id);
        return record && sandboxStatusMessage(record);
      },
    },
  };
}

/** Runs once after start-up: releases what plugins hold for sandboxes that are gone. */
async function collectNetworks(
  { network, log }: Pick<SandboxDeps, 'network' | 'log'>,
  store: SandboxStore,
  signal: AbortSignal,
): Promise<void> {
  try {
    await network.collectGarbage(networkedSandboxes(store), signal);
  } catch (error) {
    if (!signal.aborted) log.warn('cannot collect garbage of pod networks', { error });
  }
}
