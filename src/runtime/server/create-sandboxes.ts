import { aborted } from '../../base/aborted.ts';
import type { PodSandboxStatus } from '../../cri/generated/runtime-v1.ts';
import type { RuntimeService } from '../../cri/services.ts';
import { FinishLater } from '../sandbox/finish-later.ts';
import { PauseWatch } from '../sandbox/pause.ts';
import { sandboxFiles } from '../sandbox/plan-sandbox.ts';
import { networkedSandboxes, recoverSandboxes } from '../sandbox/recover-sandboxes.ts';
import type { SandboxDeps } from '../sandbox/sandbox-deps.ts';
import { SandboxLedger } from '../sandbox/sandbox-ledger.ts';
import { sandboxStatusMessage } from '../sandbox/sandbox-messages.ts';
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
  /** Once, before any verb is called and before containers are recovered. */
  recover(signal: AbortSignal): Promise<void>;
  /** What goes on behind the verbs, until the signal aborts. Containers are recovered by then. */
  run(signal: AbortSignal): Promise<void>;
  readonly view: SandboxesView;
}

/** For whoever only looks: containers, events, statistics, NRI. */
export interface SandboxesView {
  /** Those that are just being made included. */
  readonly all: ReadonlyMap<string, SandboxRecord>;
  find(idOrBeginning: string): SandboxRecord | undefined;
  filesOf(sandboxId: string): SandboxFiles;
  /** For events: also while a removal is told. */
  status(sandboxId: string): PodSandboxStatus | undefined;
}

export function createSandboxes(deps: SandboxDeps): Sandboxes {
  const ledger = new SandboxLedger(deps.records.store, deps.events);
  const later = new FinishLater(deps);
  const pauses = new PauseWatch({ ...deps, ledger, later });
  const all = { ...deps, ledger, later, pauses };
  return {
    verbs: {
      runPodSandbox: runPodSandbox(all),
      stopPodSandbox: stopPodSandbox(all),
      removePodSandbox: removePodSandbox(all),
      podSandboxStatus: podSandboxStatus(all),
      listPodSandbox: listPodSandbox(ledger),
    },
    recover: (signal) => recoverSandboxes(all, signal),
    async run(signal) {
      void deps.namespaces.warmUp();
      await Promise.all([
        later.run(signal),
        collectNetworks(deps, ledger, signal),
        aborted(signal).then(() => pauses.close()),
      ]);
    },
    view: {
      get all() {
        return ledger.all;
      },
      find: (idOrBeginning) => ledger.find(idOrBeginning),
      filesOf: (id) => sandboxFiles(ledger.all.get(id) ?? { id, namespaces: {}, filesOnDisk: true }, deps.paths),
      status(id) {
        const record = ledger.record(id);
        return record && sandboxStatusMessage(record);
      },
    },
  };
}

/** Once after a start: what plugins hold for sandboxes of which nothing is left. */
async function collectNetworks(
  { network, log }: Pick<SandboxDeps, 'network' | 'log'>,
  ledger: SandboxLedger,
  signal: AbortSignal,
): Promise<void> {
  try {
    await network.collect(networkedSandboxes(ledger), signal);
  } catch (error) {
    if (!signal.aborted) log.warn('cannot clean up the networks of pods', { error });
  }
}
