import { StatusResponse } from '../../cri/generated/runtime-v1.ts';
import type { RuntimeService } from '../../cri/services.ts';
import type { PodNetwork } from '../network/pod-network.ts';
import type { OciRuntimes } from '../oci/oci-runtime.ts';
import type { AppArmor } from '../spec/load-apparmor-profile.ts';
import { profileConditions } from '../spec/profile-conditions.ts';
import type { SpecMachine } from '../spec/spec-request.ts';

export interface StatusDeps {
  readonly network: Pick<PodNetwork, 'status' | 'handlerStatuses'>;
  readonly runtimes: Pick<OciRuntimes, 'handlers'>;
  readonly machine: Pick<SpecMachine, 'seccomp'>;
  readonly appArmor: Pick<AppArmor, 'byDefault'>;
  /** Additional `info` of `crictl info`: one JSON document per name. */
  readonly info: () => Readonly<Record<string, unknown>>;
}

/** The runtime is ready as soon as it answers: errors that prevent it end the program at start-up. */
export function status({ network, runtimes, machine, appArmor, info }: StatusDeps): RuntimeService['status'] {
  return async ({ verbose }) => {
    const networkStatus = network.status();
    const why = networkStatus.ready
      ? { reason: '', message: '' }
      : { reason: networkStatus.reason, message: networkStatus.message };
    return StatusResponse.fromPartial({
      status: {
        conditions: [
          { type: 'RuntimeReady', status: true },
          { type: 'NetworkReady', status: networkStatus.ready, ...why },
          ...profileConditions(machine.seccomp, appArmor.byDefault()),
        ],
      },
      runtimeHandlers: runtimes.handlers.map(({ name, recursiveReadOnlyMounts, userNamespaces }) => ({
        name,
        features: { recursiveReadOnlyMounts, userNamespaces },
      })),
      features: { supplementalGroupsPolicy: true },
      info: verbose
        ? verboseInfo({
            ...info(),
            network: networkStatus,
            handlerNetworks: network.handlerStatuses(),
            runtimeHandlers: runtimes.handlers,
            defaultProfiles: { seccomp: machine.seccomp, appArmor: appArmor.byDefault() },
          })
        : {},
    });
  };
}

function verboseInfo(parts: Readonly<Record<string, unknown>>): Record<string, string> {
  const mapAsObject = (_: string, value: unknown): unknown =>
    value instanceof Map ? Object.fromEntries(value) : value;
  return Object.fromEntries(Object.entries(parts).map(([name, part]) => [name, JSON.stringify(part, mapAsObject)]));
}
