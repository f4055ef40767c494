import type { RuntimeService } from '../../cri/services.ts';
import type { Clock } from '../../host/clock.ts';
import type { ContainersOfSandbox } from '../sandbox/containers-of-sandbox.ts';
import type { SandboxLedger } from '../sandbox/sandbox-ledger.ts';
import { sandboxInfo, sandboxStatusMessage } from '../sandbox/sandbox-messages.ts';
import { sandboxNotFound } from './sandbox-not-found.ts';

export interface SandboxStatusDeps {
  readonly ledger: Pick<SandboxLedger, 'find'>;
  readonly containers: Pick<ContainersOfSandbox, 'statuses'>;
  readonly clock: Pick<Clock, 'now'>;
}

/** With its containers and the time of all that, for who follows the events (KEP 3386). */
export function podSandboxStatus(deps: SandboxStatusDeps): RuntimeService['podSandboxStatus'] {
  return async ({ podSandboxId, verbose }) => {
    const record = deps.ledger.find(podSandboxId);
    if (record === undefined || record.life.phase === 'creating') throw sandboxNotFound(podSandboxId);
    return {
      status: sandboxStatusMessage(record),
      info: verbose ? sandboxInfo(record) : {},
      containersStatuses: [...deps.containers.statuses(record.id)],
      timestamp: BigInt(deps.clock.now()) * 1_000_000n,
    };
  };
}
