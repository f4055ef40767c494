import type { RuntimeService } from '../../cri/services.ts';
import type { Clock } from '../../host/clock.ts';
import type { SandboxContainers } from '../sandbox/sandbox-deps.ts';
import { sandboxInfo, sandboxStatusMessage } from '../sandbox/sandbox-messages.ts';
import type { SandboxStore } from '../sandbox/sandbox-store.ts';
import { sandboxNotFound } from './sandbox-not-found.ts';

export interface SandboxStatusDeps {
  readonly store: Pick<SandboxStore, 'find'>;
  readonly containers: Pick<SandboxContainers, 'statuses'>;
  readonly clock: Pick<Clock, 'now'>;
}

/** Includes the containers' statuses and a timestamp, for the evented PLEG (KEP-3386). */
export function podSandboxStatus(deps: SandboxStatusDeps): RuntimeService['podSandboxStatus'] {
  return async ({ podSandboxId, verbose }) => {
    const record = deps.store.find(podSandboxId);
    if (record === undefined || record.state.phase === 'creating') throw sandboxNotFound(podSandboxId);
    return {
      status: sandboxStatusMessage(record),
      info: verbose ? sandboxInfo(record) : {},
      containersStatuses: [...deps.containers.statuses(record.id)],
      timestamp: BigInt(deps.clock.now()) * 1_000_000n,
    };
  };
}
