import type { Container, Pod, ResourceHealth, ResourceStatus } from '../../api/generated/core-v1.ts';
import type { ContainerRunOptions } from '../pod/container-run-options.ts';
import type { AssignedClaim } from '../pod-resources/allocated-resources.ts';
import type { ClaimCache } from './claim-cache.ts';
import { type ClaimDevice, type ClaimInfo, cdiDevices, claimKey, isOfRequest } from './claim-info.ts';
import type { HealthState } from './device-health.ts';
import type { DeviceHealthStates } from './device-health-states.ts';
import { type ClaimGates, claimNameOf, containerClaims } from './pod-claims.ts';

export interface ContainerResourcesDeps {
  readonly cache: Pick<ClaimCache, 'get'>;
  readonly gates: ClaimGates & {
    /** The feature gate ResourceHealthStatusMessage. */
    readonly healthMessages: boolean;
  };
  /** Absent: the feature gate ResourceHealthStatus is off. */
  readonly health?: Pick<DeviceHealthStates, 'get'> | undefined;
}

/** What containers have of the claims of their pod. */
export class ContainerResources {
  readonly #deps: ContainerResourcesDeps;

  constructor(deps: ContainerResourcesDeps) {
    this.#deps = deps;
  }

  /** Throws for a claim that was not prepared for the pod: no container starts without its devices. */
  runOptions(pod: Pod, container: Container): ContainerRunOptions {
    const { gates } = this.#deps;
    const { namespace, uid } = pod.metadata;
    const devices = containerClaims(pod, container, gates).flatMap(({ claimName, requests }) => {
      const info = this.#info(pod, claimName);
      if (!info?.podUids.has(uid)) {
        const claim = `ResourceClaim ${claimName} in namespace ${namespace}`;
        throw new Error(`internal error: unable to get claim info for ${claim}`);
      }
      return requests.flatMap((request) => cdiDevices(info, request));
    });
    return devices.length === 0 ? {} : { cdiDevices: [...new Set(devices)] };
  }

  /** For the pod resources API. Empty as long as one of the claims is not prepared, as in kubelet. */
  claims(pod: Pod, containerName: string): readonly AssignedClaim[] {
    const container = findContainer(pod, containerName);
    if (!container) return [];
    const infos = this.#claimsOf(pod, container).map(({ claimName }) => this.#info(pod, claimName));
    return infos.every((info) => info !== undefined) ? infos.map(toAssignedClaim) : [];
  }

  /** The health of the devices that a container has by the claims in its spec. Only regular containers show it. */
  resourceHealth(pod: Pod, containerName: string): readonly ResourceStatus[] {
    const container = pod.spec.containers.find(({ name }) => name === containerName);
    const claims = container?.resources?.claims ?? [];
    if (!container || claims.length === 0 || !this.#deps.health) return [];
    return claims.flatMap(({ name, request = '' }) => {
      const claimName = claimNameOf(pod, name);
      const info = claimName === undefined ? undefined : this.#info(pod, claimName);
      const resources = info ? this.#health(info, request) : [];
      return resources.length === 0 ? [] : { name: `claim:${name}${request && `/${request}`}`, resources };
    });
  }

  #health({ devices }: ClaimInfo, request: string): readonly ResourceHealth[] {
    const all = [...devices].flatMap(([driver, each]) =>
      each.filter((device) => isOfRequest(device, request)).map((device) => this.#deviceHealth(driver, device)),
    );
    return [...new Map(all.toReversed().map((each) => [each.resourceID, each])).values()].toReversed();
  }

  #deviceHealth(driver: string, device: ClaimDevice): ResourceHealth {
    const { poolName, deviceName, cdiDeviceIds } = device;
    const { health, message }: HealthState = this.#deps.health?.get(driver, poolName, deviceName) ?? {
      health: 'Unknown',
      message: '',
    };
    return {
      resourceID: cdiDeviceIds[0] ?? `${driver}/${poolName}/${deviceName}`,
      health,
      ...(this.#deps.gates.healthMessages && message !== '' && { message }),
    };
  }

  /** None as long as a claim is not created. */
  #claimsOf(pod: Pod, container: Container): ReturnType<typeof containerClaims> {
    try {
      return containerClaims(pod, container, this.#deps.gates);
    } catch {
      return [];
    }
  }

  #info(pod: Pod, name: string): ClaimInfo | undefined {
    return this.#deps.cache.get(claimKey({ namespace: pod.metadata.namespace, name }));
  }
}

function toAssignedClaim({ name, namespace, devices }: ClaimInfo): AssignedClaim {
  const resources = [...devices].flatMap(([driverName, each]) =>
    each.map(({ poolName, deviceName, shareId, cdiDeviceIds }) => ({
      cdiDevices: cdiDeviceIds,
      driverName,
      poolName,
      deviceName,
      ...(shareId !== undefined && { shareId }),
    })),
  );
  return { claimName: name, claimNamespace: namespace, resources };
}

function findContainer({ spec }: Pod, name: string): Container | undefined {
  return [...(spec.initContainers ?? []), ...spec.containers].find((each) => each.name === name);
}
